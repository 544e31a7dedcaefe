import { Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { flagOf, type Given, load } from "../../Config.js"

const setting = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/** The options that name an installation. Every command takes them. */
export const installationOptions = {
  data_dir: setting("data-dir", "The directory that holds everything (.reins in the working directory)"),
  database_url: setting(
    "database-url",
    "A PostgreSQL database instead of SQLite in the data directory; better set REINS_DATABASE_URL"
  ),
  manifests_dir: setting(
    flagOf("manifests_dir"),
    "A directory whose *.json are manifests: each adds a provider or replaces one (REINS_MANIFESTS_DIR)"
  )
}

/** The options of a command that runs or checks a server. */
export const serverOptions = {
  ...installationOptions,
  host: setting("host", "The address to listen on (127.0.0.1)"),
  port: setting("port", "The port to listen on, 0 for any (7117)"),
  node: setting("node", "The name of this machine among several on one PostgreSQL"),
  node_address: setting("node-address", "The URL of this node for the others"),
  role: setting("role", "api serves requests, runner has the sessions, all does both (all)"),
  blobs: setting(
    "blobs",
    "Where snapshots of sessions are kept: directory:/path, postgres, or s3://bucket/prefix?endpoint=https://host (none)"
  ),
  public_url: setting("public-url", "The URL of the service as people reach it, if not that address"),
  executor: setting(
    "executor",
    "How agents run: bubblewrap, in a sandbox; container, in a container; local, without a boundary (bubblewrap; local on loopback where " +
      "that does not work)"
  ),
  container_image: setting(
    "container-image",
    "The image of the executor container, by its digest, as in docker.io/library/node@sha256:..."
  )
}

/** The configuration with the options of a command. */
export const configOf = (options: { readonly [Name in keyof Given]?: Option.Option<string> }) =>
  Effect.suspend(() => {
    const flags = Object.entries(options).flatMap(([name, value]) =>
      Option.isSome(value) ? [[name, value.value] as const] : []
    )
    return load(Object.fromEntries(flags), process.env, process.cwd())
  })
