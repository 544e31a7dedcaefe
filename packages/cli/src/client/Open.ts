import { flag } from "../Command.js"
import { openInBrowser } from "../terminal/Browser.js"
import { tell } from "../terminal/Output.js"
import { remoteCommand } from "./Remote.js"
import { optionalSession, sessionNamed } from "./Resolve.js"

/** The page of a session. */
export const pageOf = (url: string, sessionId: string): string => `${url}/ui/sessions/${sessionId}`

/** Opens a page in the browser. Where there is none, its address is told. */
export const openPage = async (address: string): Promise<void> => {
  if (await openInBrowser(address)) tell(`Opened ${address}`)
  else process.stdout.write(`${address}\n`)
}

/** `reins open` */
export const open = remoteCommand({
  takes: {
    session: optionalSession("The page of one session (Home)"),
    print: flag("print", "Print the address, and open nothing")
  },
  details:
    "Where no browser can be opened, as over SSH, it prints the address. BROWSER names the program that opens it.",
  examples: [
    ["reins open last", "See the newest session in the browser"],
    ["reins open 3ffe --print", "Print the address of the session whose id ends so"]
  ],
  run: async ({ print, session }, connect) => {
    const remote = await connect()
    const address =
      session === undefined ? `${remote.url}/ui/` : pageOf(remote.url, await sessionNamed(remote, session))
    if (print) process.stdout.write(`${address}\n`)
    else await openPage(address)
  }
})
