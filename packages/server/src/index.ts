export * as HttpServer from "./HttpServer.js"
export { ListenError } from "./ListenError.js"
export { type ListenOptions, Server } from "./Server.js"
