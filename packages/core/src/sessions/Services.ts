import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { SessionLifecycles } from "./creation/SessionLifecycles.js"
import { OfferedTools } from "./functions/OfferedTools.js"
import { Inbox } from "./Inbox.js"
import { Interactions } from "./Interactions.js"
import { Messages } from "./Messages.js"
import { MessageStore } from "./messages/MessageStore.js"
import { UploadStore } from "./messages/UploadStore.js"
import * as Questions from "./questions/Services.js"
import { ResultSchemas } from "./results/ResultSchemas.js"
import { TurnResults } from "./results/TurnResults.js"
import { SessionListeners } from "./rows/SessionListeners.js"
import { SessionStore } from "./rows/SessionStore.js"
import { Sessions } from "./Sessions.js"
import { SearchScopes } from "./search/SearchScopes.js"
import { Turns } from "./Turns.js"
import * as ConnectionTurns from "./turns/ConnectionTurns.js"
import * as TurnServices from "./turns/Services.js"
import { Usages } from "./usage/Usages.js"

/** The services of this room. */
export const layer = oneByOne(Sessions.layer, Messages.layer, Turns.layer, Interactions.layer, Usages.layer).pipe(
  onTopOf(oneByOne(Inbox.layer, SessionLifecycles.layer, Questions.layer)),
  onTopOf(TurnServices.layer),
  onTopOf(OfferedTools.layer),
  onTopOf(
    oneByOne(MessageStore.layer, SessionListeners.layer, UploadStore.layer, ConnectionTurns.layer, ResultSchemas.layer)
  ),
  onTopOf(oneByOne(SessionStore.layer, TurnResults.layer, SearchScopes.layer))
)
