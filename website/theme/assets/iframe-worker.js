// Search in pages opened as files: browsers allow workers to pages from a server only, so here the
// worker's script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const script = this.inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((done) => script.addEventListener("load", done));
      this.inside.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
