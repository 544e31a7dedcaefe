import { Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { type Given, load } from "../Config.js"

const setting = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/** Where the installation is: every command takes these. */
export const installationOptions = {
  data_dir: setting("data-dir", "Where everything is kept (.reins in the working directory)"),
  database_url: setting(
    "database-url",
    "A PostgreSQL database instead of SQLite in the data directory; rather set REINS_DATABASE_URL"
  )
}

export const serverOptions = {
  ...installationOptions,
  host: setting("host", "The address to listen on (127.0.0.1)"),
  port: setting("port", "The port to listen on, 0 for any (7117)"),
  public_url: setting("public-url", "Where people reach the service, if not at that address")
}

/** The configuration with the options of a command. */
export const configOf = (options: { readonly [Name in keyof Given]?: Option.Option<string> }) =>
  Effect.suspend(() => {
    const flags = Object.entries(options).flatMap(([name, value]) =>
      Option.isSome(value) ? [[name, value.value] as const] : []
    )
    return load(Object.fromEntries(flags), process.env, process.cwd())
  })
