export * as HttpServer from "./HttpServer.js"
export { ListenError, type ListenOptions, Server } from "./Server.js"
