import type { Client, Reply, ReplyObserver } from '@reply/core'
import type { SteadyClock } from '@reply/core/source'
import type { LedgerStore } from '@reply/sink'
import type { BridgeConnection } from '@reply/sink/channel'
import type { SinkFields } from '@reply/sink/internal'
import type { AnsweredBy } from '../asks/answered-by.ts'
import { createAskTimeouts } from '../asks/ask-timeouts.ts'
import { createSavedGrants } from '../asks/saved-grants.ts'
import { createChannels } from '../chats/channels.ts'
import type { ChannelLateEdits } from '../chats/late-edits.ts'
import { ledgersOf } from '../chats/ledgers.ts'
import { createRoutes } from '../chats/routes.ts'
import { type Commands, createCommands } from '../commands/dispatch.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { BridgeConfig } from '../config/schema.ts'
import type { BridgeObserver } from '../events/emit.ts'
import { createFailedDeliveries, type FailureCounts } from '../failed/failed-deliveries.ts'
import { createTries, type Turns } from '../failed/tries.ts'
import { withoutUnreadableRows } from '../failed/unreadable-rows.ts'
import { createIntake, type Intake } from '../intake/intake.ts'
import type { HeldLease } from '../members/membership.ts'
import type { Activity } from '../notices/activity.ts'
import { createNotices } from '../notices/notices.ts'
import type { NoticeTarget } from '../notices/outbox.ts'
import { linkMsIn, type PageLinks } from '../pages/page-links.ts'
import type { People } from '../people/people.ts'
import type { RateLimit } from '../people/rate-limit.ts'
import type { ChatPlace } from '../place.ts'
import { createActiveRuns } from '../runs/active-runs.ts'
import { createBacklog } from '../runs/backlog.ts'
import { createFollowers, type Followers, type FollowRules } from '../runs/follow-target.ts'
import { createRunner, type Runner } from '../runs/runner.ts'
import type { BridgeServices } from '../runs/services.ts'
import type { SessionReads } from '../runs/session-reads.ts'
import type { FileReaders } from '../servers/file-readers.ts'
import { withLeasedCalls } from '../servers/lease-context.ts'
import type { RequireSafe } from '../servers/safety.ts'
import { toWoken } from '../state/decode.ts'
import { createRegistry } from '../state/registry.ts'
import { shardLeasePrefix, shardOf, wakePrefix } from '../state/shard-of.ts'
import { createErrorReports, createState, type StoreReports } from '../state/state.ts'
import type { Store } from '../store/store.ts'
import { newAbortController, waitAtMost } from '../timers.ts'
import type { Transcriber } from '../voice/transcriber.ts'

/** What all shards of a process share. */
export interface ShardHost {
  readonly config: BridgeConfig
  readonly store: Store
  readonly reports: StoreReports
  readonly people: People
  readonly rate: RateLimit
  readonly mirrors: Mirrors
  /** As in `ChatMigrations`. */
  readonly withFirstID: (place: ChatPlace) => ChatPlace
  /** As in `ChatMigrations`. */
  readonly loadMoves: () => Promise<void>
  /** The connections of the channels, by their names. */
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly sinkFields: (channel: string) => SinkFields
  /** The channels that only notify, by their names. */
  readonly noticeTargets: ReadonlyMap<string, NoticeTarget>
  readonly activity: Activity
  /** Returns the reports of late edits of a channel. */
  readonly lateEdits: (channel: string) => ChannelLateEdits
  /** The clients of the servers, by their names. */
  readonly servers: ReadonlyMap<string, Client>
  readonly requireSafe: RequireSafe
  readonly fileReaders: FileReaders
  /** As in `BridgeServices`. */
  readonly pages: () => PageLinks | undefined
  readonly turns: Turns
  /** Returns the transcriber of the process. Undefined if the config has none. */
  readonly transcriber: () => Transcriber | undefined
  readonly sessionReads: SessionReads
  readonly followRules: FollowRules
  /** Chats of several shards may show the same ask. */
  readonly answeredBy: AnsweredBy
  readonly clock: SteadyClock
  readonly emit: BridgeObserver
  /** Called with the numbers of failures of a shard when they changed. */
  readonly onCounts: (shard: string, counts: FailureCounts) => void
  readonly onError: (error: Error) => void
}

/** The chats of one shard, with everything that handles them. It writes under its lease. */
export interface Shard {
  /** For example `07`. */
  readonly name: string
  /** Picks up what earlier processes left. Rejects if the store fails, or if the shard stops meanwhile. */
  restore(): Promise<void>
  /** Handles what people do in its chats. */
  readonly intake: Intake
  /** Returns the observers of a reply that began on a server without a call of this shard. */
  observe(server: string, reply: Reply): readonly ReplyObserver[]
  /** As in `UnpromptedRuns`. */
  follow: Runner['follow']
  /** Follows the sessions that other members handed to it, see `ServerWatches`. */
  followWoken(): Promise<void>
  /** As in `Runner`. */
  showAgain(sessionID: string, promptID: string): Promise<void>
  /** As in `Runner`. */
  showUndelivered: Runner['showUndelivered']
  /** The bridge's commands, for the platforms' menus. */
  readonly menu: Commands['menu']
  /** How many runs it follows. */
  runs(): number
  /** For how long one of its chats has not changed although there is more to show, in ms, see `Sink.unshownSince`. The longest time. */
  unshownForMs(): number
  /** Removes what is too old to be chosen, and counts the failures. */
  sweep(): Promise<void>
  /**
   * Stops its timers, sinks and retries. Runs on the servers continue. Resolves when nothing is posted or handled any more, at
   * the latest after `mostMs`.
   */
  stop(mostMs: number): Promise<void>
  /** Resolves when no prompt is being posted. Otherwise the next owner would have to look for it on its server. */
  whenPosted(): Promise<void>
  /** Undoes the tries of what the next owner handles again, because this process was not killed by it. Call it after `stop`. */
  undoTries(): Promise<void>
}

/** How long stopping waits for messages of the bridge that are being posted, in ms. They may wait for the budget of their chat. */
const notesMs = 2000
/** How many sessions that were handed over a shard watches. */
const mostWoken = 20

/** Creates a shard. It does nothing before `restore`. */
export function createShard(host: ShardHost, lease: HeldLease): Shard {
  const { config, store, reports, people, mirrors, withFirstID, connections, sinkFields, fileReaders, clock, emit } =
    host
  const name = lease.name.slice(shardLeasePrefix.length)
  const { whenHeld } = lease
  const stopping = newAbortController()
  const onError = createErrorReports(host.onError, reports, stopping.signal)
  const onFenced = (): void => emit({ type: 'fenced', at: clock.wall(), shard: name })
  const state = withoutUnreadableRows({
    state: createState({ store, shard: name, lease, clock, stopping: stopping.signal, reports, onFenced }),
    now: () => clock.now(),
    onPutAside: (row) => failed.onRowPutAside(row),
    onError,
  })
  const routes = createRoutes({
    state,
    clock,
    mirrors,
    servers: Object.keys(config.servers),
    routes: config.routes,
    withFirstID,
  })
  const ledgers = new Map<string, LedgerStore>()
  /** By session: stops watching it. */
  const watches = new Map<string, () => void>()
  /** By server: show what a chat of this shard follows of a reply. */
  const followers = new Map([...host.servers.keys()].map((server) => [server, followersFor(server)]))
  const channels = createChannels({
    connections,
    sinkFields,
    state,
    whenHeld,
    routes,
    ledgersOf: ledgersOfChannel,
    stopping: stopping.signal,
    clock,
    onError,
  })
  const registry = createRegistry({ state, mirrors, shard: name, pageMs: linkMsIn(config) })
  const onCounts = (counts: FailureCounts): void => host.onCounts(name, counts)
  const failed = createFailedDeliveries({
    state,
    registry,
    channels,
    fileReaders,
    withFirstID,
    clock,
    onCounts,
    onError,
  })
  const notices = createNotices({
    state,
    lease,
    targets: host.noticeTargets,
    channels,
    people,
    mirrors,
    activity: host.activity,
    router: config.router,
    clock,
    emit,
    onError,
  })
  const tries = createTries({ state, failed, turns: host.turns, clock, onError })
  const runs = createActiveRuns(mirrors)
  const servers = new Map([...host.servers].map(([server, client]) => [server, withLeasedCalls(client, lease)]))
  const asks = createAskTimeouts({ state, channels, people, router: config.router, clock, onError })
  const services: BridgeServices = {
    config,
    state,
    lease,
    registry,
    routes,
    mirrors,
    channels,
    people,
    servers,
    runs,
    sessionReads: host.sessionReads,
    followRules: host.followRules,
    requireSafe: host.requireSafe,
    fileReaders,
    pages: host.pages,
    clock,
    asks,
    answeredBy: host.answeredBy,
    failed,
    notices,
    tries,
    transcriber: host.transcriber,
    emit,
    onError,
  }
  const runner = createRunner(services)
  const backlog = createBacklog(services, runner)
  const grants = createSavedGrants({ state, servers, clock })
  const commands = createCommands({ ...services, runner }, backlog, grants)
  const { rate } = host
  const intake = createIntake({ services, runner, commands, grants, backlog, rate, withFirstID })
  return {
    name,
    menu: commands.menu,
    restore,
    intake,
    observe: runner.observe,
    follow: runner.follow,
    followWoken,
    showAgain: runner.showAgain,
    showUndelivered: runner.showUndelivered,
    runs: () => runs.all().length,
    unshownForMs: () => {
      const now = clock.now()
      const since = runs.all().flatMap(({ sinks }) => sinks.map(({ sink }) => sink.unshownSince() ?? now))
      return now - Math.min(now, ...since)
    },
    sweep: async () => void (await Promise.all([failed.emitCounts(), backlog.removeExpired()])),
    stop,
    whenPosted: async () =>
      void (await Promise.all(
        runs.all().map((run) => (run.execution().phase === 'posting' ? run.accepted : undefined)),
      )),
    undoTries: async () => {
      const ofBacklog = await backlog.undoTries()
      await tries.giveBack(() => [...runner.undoTries(), ...ofBacklog, ...intake.undoTries()])
    },
  }

  /** Returns the store of the ledgers of a channel, always the same one. */
  function ledgersOfChannel(channel: string): LedgerStore {
    const created =
      ledgers.get(channel) ??
      ledgersOf({
        state,
        whenHeld,
        late: host.lateEdits(channel),
        routes,
        channel,
        serverOf: runner.serverOfSession,
        onShown: markRunsShown,
      })
    ledgers.set(channel, created)
    return created
  }

  /**
   * Tells the runs of a session that the place shows one of their messages, so that their events have the time of the first.
   */
  function markRunsShown(place: ChatPlace, sessionID: string): void {
    for (const run of runs.followed(place)) if (run.execution().sessionID === sessionID) run.onShown()
  }

  /** Picks up runs, prompts and messages, in the order in which they need each other, and then reports failed answers. */
  async function restore(): Promise<void> {
    // The earlier owner may have been told of a chat's new id just before this process took over.
    const load = async (): Promise<void> => void (await Promise.all([host.loadMoves(), tries.load()]))
    for (const step of [load, runner.restoreRuns, backlog.restoreBacklog, intake.restore]) {
      await step()
      stopping.signal.throwIfAborted()
    }
    void failed.restoreReports(tries).catch(onError)
    void notices.send()
    void followWoken().catch(onError)
  }

  /** Returns the followers that show what a chat of this shard follows of the replies of a server. */
  function followersFor(server: string): Followers {
    return createFollowers(async (reply) => {
      const target = stopping.signal.aborted ? undefined : await host.followRules.findTarget(server, reply)
      if (target?.type !== 'chat' || shardOf(target.place, mirrors) !== name) return undefined
      return await runner.follow(server, reply, target)
    }, onError)
  }

  /** Watches each session that was handed over, in place of an idle one that is watched longest if they are too many. */
  async function followWoken(): Promise<void> {
    for (const { key, value } of await state.withRetries(() => state.list(wakePrefix))) {
      const { server, sessionID } = toWoken(key)
      const client = servers.get(server)
      if (watches.has(sessionID)) followers.get(server)?.lookAgain(sessionID)
      else if (client && !stopping.signal.aborted) {
        watches.set(
          sessionID,
          client.watch(
            { sessionID },
            {
              observe: (reply) => {
                const follower = followers.get(server)?.observe()
                return [...runner.observe(server, reply), ...(follower ? [follower] : [])]
              },
            },
          ),
        )
        const isFollowed = (id: string): boolean => runs.all().some((run) => run.execution().sessionID === id)
        const idle = [...watches.keys()].find((id) => id !== sessionID && !isFollowed(id))
        if (watches.size > mostWoken && idle !== undefined) stopWatch(idle)
        // The watch does not see a run that has ended by then.
        void runner.showMissed(server, sessionID).catch(onError)
      }
      // The next owner watches it.
      if (stopping.signal.aborted) return
      // From here on, a restart finds what the session has done meanwhile.
      const removal = { type: 'compare-and-set', key, expected: value, value: undefined } as const
      // If it was handed over once more since the list, the hint of that calls this again.
      await state.withRetries(() => state.commit([removal]))
    }
  }

  /** Stops watching a session. */
  function stopWatch(sessionID: string): void {
    watches.get(sessionID)?.()
    watches.delete(sessionID)
  }

  /** Stops the parts that begin something, and then waits for those that work. A step that takes too long is left. */
  async function stop(mostMs: number): Promise<void> {
    const until = clock.now() + mostMs
    stopping.abort()
    for (const sessionID of [...watches.keys()]) stopWatch(sessionID)
    backlog.stop()
    asks.stop()
    failed.stop()
    notices.stop()
    const whenNotesPosted = async (): Promise<void> =>
      await waitAtMost(Promise.all([channels.idle(), failed.idle(), notices.idle()]), notesMs, clock)
    for (const step of [runner.stop, intake.idle, whenNotesPosted])
      await waitAtMost(step().catch(onError), Math.max(0, until - clock.now()), clock)
  }
}
