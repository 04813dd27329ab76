import type { Client, Clock } from '@reply/core'
import type { AnsweredBy } from '../asks/answered-by.ts'
import type { AskWatch } from '../asks/ask-watch.ts'
import type { Channels } from '../channels.ts'
import type { RouterConfig } from '../config/schema.ts'
import type { BridgeEvent } from '../events/event.ts'
import type { FailedDeliveries } from '../failed/deliveries.ts'
import type { LeaseKeeper } from '../lease-keeper.ts'
import type { Mirrors } from '../mirrors.ts'
import type { People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Registry } from '../registry/registry.ts'
import type { Routes } from '../routes/routes.ts'
import type { Guard } from '../servers/guard.ts'
import type { State } from '../state.ts'
import type { BridgeWords } from '../words.ts'

/** What everything in a bridge works with. */
export interface BridgeContext {
  readonly state: State
  /** Awaited before each call to a platform or a server. */
  readonly hold: LeaseKeeper['hold']
  readonly isHeld: LeaseKeeper['isHeld']
  readonly registry: Registry
  readonly routes: Routes
  readonly mirrors: Mirrors
  /** As in `Moves`. */
  readonly former: (place: ChatPlace) => ChatPlace
  readonly channels: Channels
  readonly people: People
  /** By the names of the config. */
  readonly servers: ReadonlyMap<string, Client>
  /** Called before a prompt is posted. */
  readonly guard: Guard
  /** The directory of a server's sessions; undefined for the server's own. */
  readonly directoryOf: (server: string) => string | undefined
  /** Whether people without `approve` may prompt a server that acts unasked. */
  readonly trustsPrompt: (server: string) => boolean
  /**
   * Whether the bridge starts that server as a coding agent: it takes any prompt that begins with a slash for a command,
   * and may list its commands only later, or never.
   */
  readonly isAgent: (server: string) => boolean
  readonly router: RouterConfig
  readonly words: BridgeWords
  /** Its `now` never goes back. */
  readonly clock: Clock
  /** What the computer's clock shows, in ms since the epoch, also after it was set back: for times that platforms tell. */
  readonly wallNow: () => number
  readonly answeredBy: AnsweredBy
  readonly failed: FailedDeliveries
  /** Tells what happened. Never throws. */
  readonly emit: (event: BridgeEvent) => void
  /** Never throws. */
  readonly onError: (error: Error) => void
}

/** The same with what runs need. */
export interface RunContext extends BridgeContext {
  readonly asks: AskWatch
}
