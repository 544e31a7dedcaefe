import type { Entry } from "./Command.js"

const [work, account] = ["Work:", "Account:"]

/**
 * The commands about work. Each command of these lists brings the code that it needs, so only the called one is loaded. The help shows them in
 * this order.
 */
export const workCommands: ReadonlyArray<Entry> = [
  {
    name: "run",
    about: "Give an agent a task, and see what it changes",
    group: work,
    load: async () => (await import("./client/Run.js")).run
  },
  {
    name: "chat",
    about: "Talk with an agent about a repository",
    group: work,
    load: async () => (await import("./client/Chat.js")).chat
  },
  {
    name: "open",
    about: "Open the page of a session in the browser",
    group: work,
    load: async () => (await import("./client/Open.js")).open
  },
  {
    name: "status",
    about: "Tell what waits for you, and what agents work on",
    group: work,
    load: async () => (await import("./client/Status.js")).status
  },
  {
    name: "sessions",
    about: "The sessions of agents: list, watch, diff, share, deliver",
    group: work,
    load: async () => (await import("./client/Sessions.js")).sessions
  },
  {
    name: "merge-requests",
    also: ["mr"],
    about: "Merge requests: list, show, watch, care, merge",
    group: work,
    load: async () => (await import("./client/MergeRequests.js")).mergeRequests
  },
  {
    name: "requests",
    about: "The questions of agents that wait for you",
    group: work,
    load: async () => (await import("./client/Requests.js")).requests
  },
  {
    name: "answer",
    about: "Answer the question of an agent",
    group: work,
    load: async () => (await import("./client/Requests.js")).answer
  },
  {
    name: "tools",
    about: "Functions of yours that agents call",
    group: work,
    load: async () => (await import("./client/Tools.js")).tools
  },
  {
    name: "tool-calls",
    about: "The tools that an agent has called in a turn",
    group: work,
    load: async () => (await import("./client/Tools.js")).toolCalls
  },
  {
    name: "artifacts",
    about: "The files that an agent has published",
    group: work,
    load: async () => (await import("./client/Artifacts.js")).artifacts
  },
  {
    name: "skills",
    about: "Folders that tell agents how you work",
    group: work,
    load: async () => (await import("./client/Skills.js")).skills
  },
  {
    name: "delegations",
    about: "The sessions that work for another one",
    group: work,
    load: async () => (await import("./client/Delegations.js")).delegations
  }
]

/** The commands about accounts, and what they own. */
export const accountCommands: ReadonlyArray<Entry> = [
  {
    name: "login",
    about: "Log in to a server, and store a key for it",
    group: account,
    load: async () => (await import("./client/Login.js")).login
  },
  {
    name: "agents",
    about: "The agents of the server: list, turn on, install",
    group: account,
    load: async () => (await import("./client/Agents.js")).agents
  },
  {
    name: "connections",
    about: "Connections to models and forges",
    group: account,
    load: async () => (await import("./client/Catalog.js")).connections
  },
  {
    name: "models",
    about: "The models that your connections have",
    group: account,
    load: async () => (await import("./client/Catalog.js")).models
  },
  {
    name: "projects",
    about: "Projects and their versions",
    group: account,
    load: async () => (await import("./client/Catalog.js")).projects
  },
  {
    name: "workspaces",
    about: "Workspaces: list, create, rename, leave, delete",
    group: account,
    load: async () => (await import("./client/Workspaces.js")).workspaces
  },
  {
    name: "usage",
    about: "Tokens and cost, by day, model, session or key",
    group: account,
    load: async () => (await import("./client/Usage.js")).usage
  },
  {
    name: "budget",
    about: "Limit the cost of a session, turn, key or workspace",
    group: account,
    load: async () => (await import("./client/Budgets.js")).budget
  },
  {
    name: "keys",
    about: "API keys",
    group: account,
    load: async () => (await import("./client/Keys.js")).keys
  },
  {
    name: "signing-keys",
    about: "The keys that sign commits",
    group: account,
    load: async () => (await import("./client/SigningKeys.js")).signingKeys
  },
  {
    name: "me",
    about: "Your own account: the author of your commits",
    group: account,
    load: async () => (await import("./client/Me.js")).me
  },
  {
    name: "automations",
    about: "Work that begins by itself, at its time",
    group: account,
    load: async () => (await import("./client/Automations.js")).automations
  },
  {
    name: "hooks",
    about: "Addresses that the world calls to start work",
    group: account,
    load: async () => (await import("./client/Hooks.js")).hooks
  },
  {
    name: "webhooks",
    about: "Addresses that are told of events",
    group: account,
    load: async () => (await import("./client/Webhooks.js")).webhooks
  },
  {
    name: "api",
    about: "Send a request to the API",
    group: account,
    load: async () => (await import("./client/Api.js")).api
  }
]
