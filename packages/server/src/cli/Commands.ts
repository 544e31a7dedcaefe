import type { Entry } from "@reins/cli/Command"
import { accountCommands, workCommands } from "@reins/cli/Commands"

const [work, installation] = ["Work:", "Installation:"]

/** The groups of a client that have a command more here, which needs no server. */
const larger: Readonly<Record<string, Entry["load"]>> = {
  keys: async () => (await import("./operator/Keys.js")).keys,
  automations: async () => (await import("./SchedulePreview.js")).automations
}

/** Each command brings the code that it needs, so only the called one is loaded. The help shows them in this order. */
export const commands: ReadonlyArray<Entry> = [
  {
    name: "init",
    about: "Set up a server, an account, a connection and an agent",
    group: work,
    load: async () => (await import("./init/Init.js")).init
  },
  ...workCommands,
  {
    name: "acp",
    about: "Serve an editor with the agent of your server",
    group: work,
    load: async () => (await import("./doors/Acp.js")).acp
  },
  {
    name: "mcp",
    about: "Serve an assistant with the tools of your server",
    group: work,
    load: async () => (await import("./doors/Mcp.js")).mcp
  },
  ...accountCommands.map((entry) => ({ ...entry, load: larger[entry.name] ?? entry.load })),
  {
    name: "serve",
    about: "Run the server",
    group: installation,
    load: async () => (await import("./operator/Serve.js")).serve
  },
  {
    name: "push-key",
    about: "Make the key with which the server tells browsers",
    group: installation,
    load: async () => (await import("./operator/PushKey.js")).pushKey
  },
  {
    name: "accounts",
    about: "The people who may use the server",
    group: installation,
    load: async () => (await import("./operator/Accounts.js")).accounts
  },
  {
    name: "harnesses",
    about: "The agents: list, enable, install, verify",
    group: installation,
    load: async () => (await import("./harnesses/Harnesses.js")).harnesses
  },
  {
    name: "backup",
    about: "Back up the installation, also while it runs",
    group: installation,
    load: async () => (await import("./operator/Backup.js")).backup
  },
  {
    name: "restore",
    about: "Restore a backup into an empty data directory",
    group: installation,
    load: async () => (await import("./operator/Backup.js")).restore
  },
  {
    name: "migrate",
    about: "Bring the schema of the database up to date",
    group: installation,
    load: async () => (await import("./operator/Migrate.js")).migrate
  },
  {
    name: "node",
    about: "The machines of an installation on several",
    group: installation,
    load: async () => (await import("./operator/Node.js")).node
  },
  {
    name: "keyring",
    about: "The keys that seal stored credentials",
    group: installation,
    load: async () => (await import("./operator/KeyRing.js")).keyring
  },
  {
    name: "doctor",
    about: "Check that the installation can serve",
    group: installation,
    load: async () => (await import("./doctor/Doctor.js")).doctor
  },
  {
    name: "config",
    about: "Print the configuration in force, without secrets",
    group: installation,
    load: async () => (await import("./operator/ShowConfig.js")).config
  }
]
