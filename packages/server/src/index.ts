export * as HttpServer from "./HttpServer.js"
export * as Observation from "./Observation.js"
export { ListenError, type ListenOptions, Server } from "./Server.js"
