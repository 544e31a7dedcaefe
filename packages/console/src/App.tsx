import { signal } from "@preact/signals"
import { lazy, Suspense } from "preact/compat"
import { useEffect } from "preact/hooks"
import { Entry } from "./account/Entry.js"
import { type Failure, failureOf } from "./api/Failure.js"
import { me, whoAmI } from "./api/Server.js"
import { Pages } from "./Pages.js"
import { parts } from "./route/Route.js"
import { Shell } from "./Shell.js"
import { ErrorBar, Waiting } from "./ui/Basics.js"

const SharedPage = lazy(() => import("./shared/SharedPage.js").then(({ SharedPage }) => SharedPage))

const failure = signal<Failure | undefined>(undefined)

const ask = async () => {
  failure.value = undefined
  try {
    await whoAmI()
  } catch (error) {
    failure.value = failureOf(error)
  }
}

/** The console: the page of the address for who is logged in, and the way in for anybody else. The address stays, so that it is shown after. */
export const App = () => {
  // Whoever follows a link to a shared session is asked for no login.
  const isShared = parts.value[0] === "shared"
  useEffect(() => {
    if (!isShared) void ask()
  }, [isShared])
  if (isShared)
    return (
      <Suspense fallback={<Waiting what="the page" />}>
        <SharedPage />
      </Suspense>
    )
  if (me.value === undefined)
    return (
      <main class="lone">
        <ErrorBar failure={failure.value} again={ask} />
        {failure.value === undefined && <Waiting what="the server" />}
      </main>
    )
  if (me.value === null) return <Entry />
  return (
    <Shell>
      <Pages />
    </Shell>
  )
}
