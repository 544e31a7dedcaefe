// The walk as a program of Node, Deno and Bun: `main.mjs <url>` prints what it saw.
import * as client from "../dist/index.js"
import { walk } from "./scenario.mjs"

console.log(JSON.stringify(await walk(client, process.argv[2])))
