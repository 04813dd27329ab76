import type { Client } from '@reply/core'
import type { SteadyClock } from '@reply/core/source'
import type { AnsweredBy } from '../asks/answered-by.ts'
import type { AskTimeouts } from '../asks/ask-timeouts.ts'
import type { Channels } from '../chats/channels.ts'
import type { Routes } from '../chats/routes.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { BridgeConfig } from '../config/schema.ts'
import type { BridgeObserver } from '../events/emit.ts'
import type { FailedDeliveries } from '../failed/failed-deliveries.ts'
import type { Tries } from '../failed/tries.ts'
import type { HeldLease } from '../members/membership.ts'
import type { Notices } from '../notices/notices.ts'
import type { PageLinks } from '../pages/page-links.ts'
import type { People } from '../people/people.ts'
import type { FileReaders } from '../servers/file-readers.ts'
import type { RequireSafe } from '../servers/safety.ts'
import type { Registry } from '../state/registry.ts'
import type { State } from '../state/state.ts'
import type { Transcriber } from '../voice/transcriber.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { FollowRules } from './follow-target.ts'
import type { SessionReads } from './session-reads.ts'

/** The services of a shard, shared by everything that handles its messages and runs. */
export interface BridgeServices {
  readonly config: Pick<BridgeConfig, 'servers' | 'router'>
  readonly state: State
  readonly lease: Pick<HeldLease, 'current' | 'whenHeld' | 'isHeld'>
  readonly registry: Registry
  readonly routes: Routes
  readonly mirrors: Mirrors
  readonly channels: Channels
  readonly people: People
  /** By their names in the config. */
  readonly servers: ReadonlyMap<string, Client>
  readonly runs: ActiveRuns
  /** One for all shards of a process. */
  readonly sessionReads: SessionReads
  readonly followRules: FollowRules
  /** Called right before a prompt is posted. */
  readonly requireSafe: RequireSafe
  /** Read the files that chats get. */
  readonly fileReaders: FileReaders
  /** Returns undefined if the config has no pages. */
  readonly pages: () => PageLinks | undefined
  /** Use `now` for times that are stored, and `wall` to compare with the times of platforms. */
  readonly clock: SteadyClock
  readonly asks: AskTimeouts
  readonly answeredBy: AnsweredBy
  readonly failed: FailedDeliveries
  readonly notices: Notices
  readonly tries: Tries
  /** Returns undefined if the config has none. */
  readonly transcriber: () => Transcriber | undefined
  /** Never throws. */
  readonly emit: BridgeObserver
  /** Never throws. */
  readonly onError: (error: Error) => void
}
