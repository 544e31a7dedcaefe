import { defineConfig } from "tsup"
import { client } from "./scripts/build/Client.js"
import { core } from "./scripts/build/Core.js"
import { program } from "./scripts/build/Program.js"
import { serverLibrary } from "./scripts/build/ServerLibrary.js"
import { breakableServer, nextServer } from "./scripts/build/TestedPrograms.js"
import generateClient from "./scripts/client.mjs"

/** The packages, or one of the programs that only tests run. */
export default defineConfig(async () => {
  await generateClient()
  if (process.env["REINS_BUILD_FAILPOINTS"] === "1") return breakableServer()
  return process.env["REINS_BUILD_NEXT"] === "1" ? nextServer() : [core, client, await program(), serverLibrary]
})
