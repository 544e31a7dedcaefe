import type { Me } from "@reins/client"
import { entry, flag, group, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { remoteCommand } from "./Remote.js"

const json = flag("json", "A line of JSON in the place of text")

const git = remoteCommand({
  takes: {
    name: optionalArgument("name", "The name that commits show"),
    email: option("email", "The address that commits show (that of your account)", { value: "address" }),
    remove: flag("remove", "Take the name back, so that the service is the author"),
    json
  },
  details: "Everybody who reads a repository sees the address. Without a name, the command shows what is set.",
  examples: [
    ['reins me git "Ann Miller"', "Be the author of the commits that you have asked for"],
    ["reins me git --remove", "Leave the service as their author"]
  ],
  run: async ({ email, json, name, remove }, connect) => {
    const { reins } = await connect()
    if (remove && name !== undefined) throw new CommandFailed({ message: "Give a name or --remove, not both." })
    const before = await reins.accounts.getMe()
    const after = await changed(before)
    if (json) return printJsonNow(after.git)
    tell(
      after.git === null
        ? "The service is the author of your commits."
        : `Your commits are by ${harmless(`${after.git.name} <${after.git.email}>`)}.`
    )

    function changed(me: Me): Promise<Me> | Me {
      if (remove) return reins.accounts.updateMe({ git: null })
      if (name === undefined && email === undefined) return me
      const known = name ?? me.git?.name ?? me.account.display_name
      if (known === null) throw new CommandFailed({ message: 'Give the name too, as in: reins me git "Ann Miller"' })
      return reins.accounts.updateMe({ git: { name: known, email: email ?? me.account.email } })
    }
  }
})

export const me = group(entry("git", "Set the author of the commits that you ask for", git))
