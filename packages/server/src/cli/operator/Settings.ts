import { option, type Parameter } from "@reins/cli/Command"
import { Effect } from "effect"
import { flagOf, type Given, load, type SettingName } from "../../Config.js"

const setting =
  (group: string) =>
  (name: SettingName, value: string, about: string): Parameter<string | undefined> =>
    option(flagOf(name), about, { group, value })

const installation = setting("Installation:")
const server = setting("Server:")

/** The options that name an installation. Every command that works on one takes them. */
export const installationOptions = {
  data_dir: installation("data_dir", "directory", "The directory of the installation (.reins; REINS_DATA_DIR)"),
  database_url: installation("database_url", "url", "A PostgreSQL database (SQLite; better set REINS_DATABASE_URL)"),
  manifests_dir: installation("manifests_dir", "directory", "Manifests of more agents (REINS_MANIFESTS_DIR)")
}

/** The options of a command that runs or checks a server. */
export const serverOptions = {
  ...installationOptions,
  host: server("host", "address", "The address to listen on (127.0.0.1)"),
  port: server("port", "number", "The port to listen on, 0 for any (7117)"),
  public_url: server("public_url", "url", "The URL at which people reach the server"),
  executor: server("executor", "name", "How agents run: bubblewrap, container or local"),
  container_image: server("container_image", "image", "The image of the executor container, by its digest"),
  blobs: server("blobs", "place", "Where snapshots are kept: directory:/path, postgres or s3://bucket"),
  node: server("node", "name", "The name of this machine among several on one PostgreSQL"),
  node_address: server("node_address", "url", "The URL of this machine for the others"),
  role: server("role", "role", "api serves requests, runner has the sessions, all does both"),
  log_level: server("log_level", "level", "debug, info, warning, error or none (info)")
}

/** The configuration with the options of a command. */
export const configOf = (options: Given | { readonly [Name in keyof Given]?: string | undefined }) =>
  Effect.suspend(() => {
    const flags = Object.entries(options).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value] as const] : []
    )
    return load(Object.fromEntries(flags), process.env, process.cwd())
  })
