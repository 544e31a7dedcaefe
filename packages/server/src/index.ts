export * as HttpServer from "./HttpServer.js"
export { ListenError } from "./ListenError.js"
export * as Observation from "./Observation.js"
export { type ListenOptions, Server } from "./Server.js"
