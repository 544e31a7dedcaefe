// The walk as a Worker of Cloudflare: it is made when the Worker is asked, against the server that the header names.
import * as client from "../dist/index.js"
import { walk } from "./scenario.mjs"

export default {
  fetch: async (request) => Response.json(await walk(client, request.headers.get("x-server")))
}
