import { type Caller, password } from "./Caller.js"
import type { Place } from "./Place.js"
import type { ServerProcess } from "./ServerProcess.js"
import { beginTurn, endless } from "./Turns.js"

/** Real arguments of each command, so that it does its work or gets as far as it can. */
export const commands: Readonly<Record<string, string>> = {
  "accounts create": "--email other@example.com",
  "accounts first": "",
  answer: "int_none once",
  api: "GET /api/me",
  "automations add": "Go. --name Nightly --at 2099-01-01T00:00:00Z",
  "automations cancel": "run_none",
  "automations list": "",
  "automations pause": "aut_none",
  "automations preview": "never",
  "automations remove": "aut_none",
  "automations resume": "aut_none",
  "automations run": "aut_none",
  "automations runs": "aut_none",
  "automations show": "aut_none",
  "automations try": "aut_none --receipt hrc_none",
  backup: "backup",
  budget: "SESSION 100k",
  chat: "Hello. --model scripted-1",
  config: "",
  "connections check": "con_none",
  "connections list": "",
  "connections prefer": "con_none scripted-1",
  "connections remove": "con_none --yes",
  "delegations cancel": "del_none",
  "delegations list": "SESSION",
  "delegations result": "del_none",
  doctor: "--read-blobs",
  "harnesses disable": "goose",
  "harnesses enable": "goose",
  "harnesses install": "alpha",
  "harnesses list": "",
  "harnesses lock": "nowhere.json",
  "harnesses verify": "--table",
  init: "--email person@example.com --gateway http://127.0.0.1:9/v1 --model scripted-1",
  "keyring create": "",
  "keyring forget": "key_none",
  "keyring prune": "",
  "keyring rotate": "",
  "keys create": "--email owner@example.com --name more",
  "keys list": "",
  "keys revoke": "key_none",
  login: "--email owner@example.com",
  mcp: "",
  "me git": "",
  migrate: "",
  models: "",
  "node drain": "none",
  "node forget": "none",
  "node list": "",
  "projects check": "prj_none",
  "projects list": "",
  "projects show": "prj_none",
  "push-key": "",
  requests: "",
  restore: "none",
  run: "Hello. --model scripted-1",
  "sessions archive": "SESSION",
  "sessions cancel": "SESSION",
  "sessions close": "SESSION --yes",
  "sessions deliver": "SESSION",
  acp: "",
  "artifacts get": "art_none",
  "artifacts list": "SESSION",
  "accounts delete": "--email nobody@example.com --yes",
  "projects delete": "prj_none --yes",
  "sessions delete": "sess_none --yes",
  "sessions diff": "SESSION",
  "sessions export": "SESSION",
  "sessions share": "SESSION",
  "sessions shares": "SESSION",
  "sessions unshare": "shr_none",
  "workspaces create": "Another",
  "workspaces delete": "wsp_none --yes",
  "workspaces leave": "wsp_none --yes",
  "workspaces list": "",
  "workspaces rename": "wsp_none Other",
  "workspaces retention": "wsp_none",
  "sessions list": "",
  "signing-keys create": "",
  "signing-keys list": "",
  "signing-keys remove": "skey_none",
  "sessions rename": "SESSION Renamed",
  "sessions set": "SESSION --repo http://127.0.0.1:9/moved.git",
  "sessions show": "SESSION",
  "sessions unarchive": "SESSION",
  "sessions watch": "SESSION",
  "skills list": "--project prj_none",
  "skills push": "nowhere --project prj_none",
  "tool-calls": "turn_none",
  "tools serve": "nowhere.mjs",
  usage: "",
  "hooks add": "--kind token",
  "hooks list": "",
  "hooks receipts": "hook_none",
  "hooks register": "hook_none --connection con_none --repository https://127.0.0.1:9/a/b.git",
  "hooks remove": "hook_none",
  "hooks replay": "hrc_none",
  "hooks rotate": "hook_none",
  "hooks show": "hook_none",
  "hooks unregister": "hook_none",
  "webhooks add": "http://127.0.0.1:9/hook",
  "webhooks deliveries": "whe_none",
  "webhooks disable": "whe_none",
  "webhooks enable": "whe_none",
  "webhooks list": "",
  "webhooks remove": "whe_none",
  "webhooks redeliver": "whe_none --since 1h",
  "webhooks rotate": "whe_none",
  "webhooks test": "whe_none"
}

/** The words of a command, for a session that is there. */
export const wordsOf = (command: string, sessionId: string): ReadonlyArray<string> =>
  `${command} ${commands[command]?.replace("SESSION", sessionId) ?? ""}`.trim().split(" ")

/** A session whose turn has ended, because some commands wait for the end of one. */
export const endedSession = async (server: ServerProcess, caller: Caller): Promise<string> => {
  const client = caller.at(server)
  const sessionId = await caller.newSession(client)
  const turn = await beginTurn(client, sessionId, endless())
  await client.turns.cancel({ turn_id: turn.turn_id })
  await client.turns.wait({ turn_id: turn.turn_id })
  return sessionId
}

/** The environment in which each command can do its work. */
export const environmentOf = (server: ServerProcess, caller: Caller, place: Place): Record<string, string> => ({
  REINS_URL: server.url,
  REINS_API_KEY: caller.apiKey,
  REINS_DATA_DIR: place.dataDir,
  REINS_PASSWORD: password,
  REINS_GATEWAY_KEY: "any",
  XDG_CONFIG_HOME: `${place.directory}/config`
})
