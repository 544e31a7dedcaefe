import type { EnginePlace } from "./podman.mjs"

/** Starts a daemon of Docker in a place of its own. Fails with its words where it does not start. */
export const dockerPlace: () => Promise<EnginePlace>
