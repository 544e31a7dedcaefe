import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { lazy, Suspense } from "preact/compat"
import { useEffect } from "preact/hooks"
import { failureOf } from "./api/Failure.js"
import { me, reins } from "./api/Server.js"
import { Approvals } from "./approvals/Approvals.js"
import { asked, choose, workspace, workspaces } from "./inbox/Workspace.js"
import { isReached } from "./live/Live.js"
import { theme, themes } from "./look/Theme.js"
import { opened } from "./palette/Keys.js"
import { parts, path } from "./route/Route.js"
import { Mark } from "./ui/Mark.js"

const work = [
  { to: "", name: "Inbox" },
  { to: "new", name: "New session" }
] as const

const setup = [
  { to: "start", name: "First steps" },
  { to: "connections", name: "Connections" },
  { to: "projects", name: "Projects" },
  { to: "members", name: "Members" },
  { to: "keys", name: "API keys" },
  { to: "automations", name: "Automations" },
  { to: "webhooks", name: "Webhooks" },
  { to: "usage", name: "Usage and budgets" },
  { to: "settings", name: "Settings" },
  { to: "server", name: "Server" }
] as const

const pages = [...work, ...setup, { to: "account", name: "Account" }]

const Palette = lazy(() => import("./palette/Palette.js").then(({ Palette }) => Palette))
const KeyHelp = lazy(() => import("./palette/Palette.js").then(({ KeyHelp }) => KeyHelp))

const NavLink = ({ name, to }: { readonly to: string; readonly name: string }) => (
  <a href={to === "" ? "../ui" : to} aria-current={(parts.value[0] ?? "") === to ? "page" : undefined}>
    {name}
    {to === "" && asked.value > 0 && <span class="count">{asked.value}</span>}
  </a>
)

const logOut = async () => {
  try {
    await reins.accounts.logout()
  } catch (error) {
    failureOf(error)
  }
  me.value = null
}

/** The frame of every page: where one can go, and what waits for an answer. */
export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const isOpen = useSignal(false)
  const at = path.value
  useEffect(() => {
    isOpen.value = false
  }, [at, isOpen])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={toMain}>
        Skip to the content
      </button>
      <header class="top">
        <Mark />
        <button type="button" class="menu search" onClick={() => (opened.value = "palette")}>
          Search
        </button>
        <button
          type="button"
          class="menu"
          aria-expanded={isOpen.value}
          aria-controls="navigation"
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          Menu{asked.value > 0 && <span class="count">{asked.value}</span>}
        </button>
      </header>
      {/* A link to the page that is shown leads nowhere, and closes the menu all the same. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click */}
      <nav
        id="navigation"
        class={isOpen.value ? "open" : ""}
        aria-label="Pages"
        onClick={({ target }) => {
          if (target instanceof Element && target.closest("a") !== null) isOpen.value = false
        }}
      >
        <Mark />
        <Workspaces />
        <button type="button" class="search" onClick={() => (opened.value = "palette")}>
          Search <kbd>Ctrl K</kbd>
        </button>
        {work.map((each) => (
          <NavLink key={each.to} {...each} />
        ))}
        <h2>Workspace</h2>
        {setup.map((each) => (
          <NavLink key={each.to} {...each} />
        ))}
        <div class="foot">
          <label class="theme">
            <span>Theme</span>
            <select
              value={theme.value}
              onChange={({ currentTarget }) =>
                (theme.value = themes.find((each) => each === currentTarget.value) ?? "system")
              }
            >
              {themes.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
          <span class="who" title={me.value?.account.email}>
            {me.value?.account.display_name ?? me.value?.account.email}
          </span>
          <span class="spread">
            <a href="account">Account</a>
            <button type="button" class="link" onClick={logOut}>
              Log out
            </button>
          </span>
        </div>
      </nav>
      {opened.value !== undefined && (
        <Suspense fallback={null}>{opened.value === "palette" ? <Palette pages={pages} /> : <KeyHelp />}</Suspense>
      )}
      <div class="column">
        {!isReached.value && (
          <p class="away" role="alert">
            The server does not answer. What you see may be old. The page tries again by itself.
          </p>
        )}
        <Approvals />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}

const toMain = () => document.getElementById("main")?.focus()

const Workspaces = () =>
  workspaces.value.length > 1 ? (
    <select
      aria-label="Workspace"
      value={workspace.value?.id}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {workspaces.value.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  ) : (
    <p class="workspace">{workspace.value?.name}</p>
  )
