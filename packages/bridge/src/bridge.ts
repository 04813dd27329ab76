import { randomUUID } from 'node:crypto'
import { type Client, type Clock, systemClock } from '@reply/core'
import { safeOnError, steadyClock } from '@reply/core/internal'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  createWebhook,
  keepSecret,
  NotTakenError,
  type Webhook,
} from '@reply/sink/channel'
import { ledgerKeyOf, type SecretSource, safeError, type WebhookHead } from '@reply/sink/internal'
import { createAnsweredBy } from './asks/answered-by.ts'
import { type ChannelStatus, createChannelStatuses, disconnectedMessage } from './chats/channel-status.ts'
import { createChatMigrations } from './chats/chat-migrations.ts'
import { type ChannelLateEdits, createLateEdits } from './chats/late-edits.ts'
import { isNoticeChannel, type LoadChannel, loadChannel } from './chats/load-channel.ts'
import { createSeenMessages } from './chats/seen-messages.ts'
import { secretsOf } from './config/load.ts'
import { createMirrors } from './config/mirrors.ts'
import { parseChannel, parseConfig, sinkFieldsIn } from './config/parse.ts'
import type { BridgeConfig } from './config/schema.ts'
import { BridgeError, isTakenOver } from './error.ts'
import { type BridgeObserver, emitTo } from './events/emit.ts'
import type { MemberEvent } from './events/event.ts'
import { createFailureCounts } from './failed/failure-counts.ts'
import { createTurns } from './failed/tries.ts'
import { createFacts } from './intake/facts.ts'
import type { Intake } from './intake/intake.ts'
import { createReceiver } from './intake/receiver.ts'
import { createMemberBudgets } from './members/budgets.ts'
import { createListeners } from './members/listeners.ts'
import { type BeatTiming, createMembership, type HeldLease } from './members/membership.ts'
import { createActivity } from './notices/activity.ts'
import type { NoticeTarget } from './notices/outbox.ts'
import { createRunPages, type RunPages } from './pages/run-pages.ts'
import { createPeople } from './people/people.ts'
import { createRateLimit } from './people/rate-limit.ts'
import type { ChatPlace } from './place.ts'
import { createFollowRules } from './runs/follow-target.ts'
import { createSessionReads } from './runs/session-reads.ts'
import { connectServer, secretNamesIn } from './servers/connect.ts'
import { createFileReaders } from './servers/file-readers.ts'
import { withoutCallLease } from './servers/lease-context.ts'
import { createRequireSafe, requireUnexposed, warningsOf } from './servers/safety.ts'
import { moveRows } from './shards/move-rows.ts'
import { createOwnedShards, type OwnedShards } from './shards/owned-shards.ts'
import { createServerWatches, serverLeasePrefix } from './shards/server-watches.ts'
import { createShard, type ShardHost } from './shards/shard.ts'
import { createUndeliveredReports } from './shards/undelivered-reports.ts'
import { toFollowHint } from './state/follow-hint.ts'
import type { PageAction } from './state/page-action.ts'
import { allShards, listenerLeaseName, shardCount, shardLeasePrefix, shardOf } from './state/shard-of.ts'
import {
  createErrorReports,
  createLeasedCommit,
  createShardRows,
  createSharedState,
  createStoreReports,
} from './state/state.ts'
import type { BeatRequest, Store } from './store/store.ts'
import { texts } from './texts.ts'
import { newAbortController, waitAtMost } from './timers.ts'
import { requireWholeState } from './transfer/transfer-state.ts'
import { createTranscriber, type Transcriber } from './voice/transcriber.ts'

/** How long a stop may take, in ms. Messages that are not handled by then are handled after the next start. */
const stopMs = 10_000
/** How much of that is kept for the channels and the connections to servers, in ms. */
const channelsMs = 1000
/** How long a stop waits at most until this process has left, in ms. Leases that are not released expire by themselves. */
const leaveMs = 1000
/** How long a stop waits at most for the store to know that this process wants no shards, in ms. */
const lastBeatMs = 250
/** The least time between two beats that tell of shards, in ms. A handover has many beats, because each release hints at the next one. */
const shardsMs = 1000
/**
 * How long a start waits for platforms to check its tokens before it takes shards, in ms. One that doesn't answer may be unreachable,
 * and others then need this process.
 */
const checkMs = 2000
/** How often expired values are removed, in ms. */
const sweepMs = 600_000

/** Webhooks that refuse all requests: of an unknown channel, and before the start, so that the platform redelivers. */
const unknownWebhook = refusingWebhook(404)
const earlyWebhook = refusingWebhook(503)

/** Creates a bridge. It does nothing before `start`. */
export function createBridge(options: BridgeOptions): Bridge {
  const { config, store, load = loadChannel } = options
  const clock = options.clock ? steadyClock(options.clock) : systemClock
  const { secret: secretOf = secretsOf(process.cwd(), process.env) } = options
  const secret: typeof secretOf = (source) => {
    const value = secretOf(source)
    keepSecret(value)
    return value
  }
  const { ownPaths = [] } = options
  const onNotice = options.onNotice ?? (() => {})
  /** Aborts when the bridge begins to stop. */
  const starting = newAbortController()
  const report = safeOnError((error: Error) => options.onError?.(safeError(error)))
  const reports = createStoreReports(report)
  const onError = createErrorReports(report, reports, starting.signal)
  const emit = emitTo(options.observers ?? [], onError)
  const member = randomUUID()
  const connections = new Map<string, BridgeConnection>()
  const noticeTargets = new Map<string, NoticeTarget>()
  const hooks = new Map<string, Webhook>()
  const servers = new Map<string, Client>()
  const serverNames = Object.keys(config.servers)
  const state = createSharedState({ store, clock, stopping: starting.signal, reports })
  const lateEdits = new Map(Object.keys(config.channels).map((name) => [name, newLateEdits(name)]))
  const { storeMove, loadMoves, learnMove, withFirstID } = createChatMigrations(state)
  /** The channels that post only where they listen. Known once their connections are created, and used after that. */
  const listenerChannels = new Set<string>()
  const mirrors = createMirrors(config.mirrors, withFirstID, (channel) => listenerChannels.has(channel))
  const people = createPeople(config.people)
  const seen = createSeenMessages({ state, mirrors, clock })
  const activity = createActivity({ state, people, monotonic: clock.monotonic, onError })
  const statuses = createChannelStatuses({ emit, onNotice, clock })
  const counts = createFailureCounts((sum) => emit({ type: 'failures', at: clock.now(), ...sum }))
  const requireSafe = createRequireSafe({ servers: config.servers, ownPaths, clock })
  const host: ShardHost = {
    config,
    store,
    reports,
    people,
    rate: createRateLimit(config.router.messagesPerMinute, clock),
    mirrors,
    withFirstID,
    loadMoves,
    connections,
    sinkFields: sinkFieldsIn(config),
    noticeTargets,
    activity,
    lateEdits: lateEditsOf,
    servers,
    requireSafe,
    fileReaders: createFileReaders({ config, requireSafe, clock, onError }),
    turns: createTurns(clock),
    transcriber: () => transcriber,
    pages: () => runPages?.links,
    sessionReads: createSessionReads(),
    followRules: createFollowRules({
      state,
      config,
      people,
      mirrors,
      withFirstID,
      hasChannel: (name) => connections.has(name),
    }),
    answeredBy: createAnsweredBy(),
    clock,
    emit,
    onCounts: counts.set,
    onError,
  }
  let transcriber: Transcriber | undefined
  let runPages: RunPages | undefined
  /** Those of the shards that take messages. */
  const intakes = new Map<string, Intake>()
  const shards = createOwnedShards({
    create: (lease) => createShard(host, lease),
    clock,
    onRestored: (shard) => {
      const { name, intake } = shard
      intakes.set(name, intake)
      undelivered.passTo(shard)
      // No listener heard the earlier reports of its chats.
      callLateListeners()
      // Hints of what came since it was restored found no intake.
      if (membership.others() > 0) facts.look(name)
      void intake.drain()
      setMenus()
      if (shards.restoring().length === 0) emitShardsNow()
    },
    onDropped: ({ name }) => {
      intakes.delete(name)
      if (!stopped) counts.remove(name)
    },
    onError,
  })
  const undelivered = createUndeliveredReports({ find: shards.find, clock, onError })
  const serverWatches = createServerWatches({
    servers,
    directoryOf: (name) => config.servers[name]?.directory,
    shards,
    shardOf: (place) => shardOf(place, mirrors),
    findFollowTarget: host.followRules.findTarget,
    state,
    clock,
    emit,
    onError,
  })
  /** The connections through which this process posts, or has posted. Only such a process needs a part of their rate limits. */
  const posting = new Map<string, BridgeConnection>()
  const budgets = createMemberBudgets({
    connections: posting,
    clock,
    isHeld: () => membership.isHeld(),
    beat: async () => await membership.beat(),
  })
  const listeners = createListeners({
    connections,
    chatsLeaseName: listenerLeaseName,
    clock,
    onStarted: statuses.markStarted,
    onElsewhere: (name) => stopped ?? statuses.markElsewhere(name),
    onError,
  })
  /** What works under the lease of the channels that post only where they listen: they, and their chats. */
  const boundChats: LeaseUser = {
    add: (lease) => {
      for (const [name, one] of connections) if (listenerChannels.has(name)) posting.set(name, one)
      listeners.add(lease)
      shards.add({ ...lease, release: async () => await listeners.release(lease) })
    },
    drop: (lease) => {
      shards.drop(lease)
      listeners.drop(lease)
    },
  }
  /** What this process takes part in, more with each step of the start. */
  let takesPart: 'in nothing' | 'in shards' | 'in all' = 'in nothing'
  let layout = ''
  let hasLayout = false
  let hasOtherLayout = false
  let stateLease: HeldLease | undefined
  let waitingFor: keyof typeof waitingNotices | undefined
  /** Whether other processes went on without this one, and it has not joined them since. */
  let wasLeftOut = false
  const membership = createMembership({
    store,
    member,
    clock,
    request,
    used: budgets.used,
    onGranted: (lease) => {
      if (lease.name === stateLeaseName) stateLease = lease
      else leaseUserOf(lease).add(lease)
    },
    onLost: (lease) => {
      if (lease.name === stateLeaseName) stateLease = undefined
      else leaseUserOf(lease).drop(lease)
    },
    onExcess: ({ shard = 0 }) => shards.giveBack(shard),
    onWaiting: (reason) => {
      if (waitingFor === undefined) emitMember('waiting')
      // It asks to be alone, to move the rows, which it can't beside members with the stored layout.
      waitingFor = reason === 'alone' && hasOtherLayout ? 'layout' : reason
      onNotice(waitingNotices[waitingFor])
    },
    onStalled: (error) => {
      listeners.pause()
      emitMember('expired')
      onError(error)
    },
    onBack: () => {
      listeners.resume()
      emitMember('joined')
      onNotice('The state can be written again. Resuming.')
    },
    onLeft: () => {
      wasLeftOut = true
      emitShards()
      emitMember('left')
    },
    onJoined: () => {
      waitingFor = undefined
      emitMember('joined')
      if (wasLeftOut) onNotice('This process uses the state again. Resuming.')
      wasLeftOut = false
    },
    onBeat: (beat, timing) => {
      budgets.apply(beat)
      emitBeat(timing)
    },
  })
  const { isHeld, whenHeld } = membership
  const rows = {
    state,
    stateOf: (shard: string) => createShardRows(state, shard),
    shardOf: (place: ChatPlace) => shardOf(place, mirrors),
    intakes,
  }
  const facts = createFacts({ ...rows, connections, others: membership.others, clock, onError })
  const receiver = createReceiver({
    ...rows,
    member,
    router: config.router,
    facts,
    // The next owner of a shard that is about to stop watches what is handed over to it.
    onWoken: (shard) => void (stopped ?? shards.find(shard)?.followWoken().catch(onError)),
    onLate: callLateListeners,
    lease: membership,
    moves: { loadMoves, learnMove },
    connections,
    people,
    mirrors,
    seen,
    activity,
    clock,
    emit,
    onError,
  })
  const pageSource = {
    state,
    shardOf: rows.shardOf,
    mirrors,
    servers,
    people,
    answeredBy: host.answeredBy,
    fileReaders: host.fileReaders,
    act: actOnPage,
    onError,
  }
  let hasMenus = false
  let stopSweep = (): void => {}
  let stopHints = (): void => {}
  let started: Promise<void> | undefined
  let stopped: Promise<void> | undefined
  let hasStopped = false
  let shardsEmittedAt = Number.NEGATIVE_INFINITY
  let isListening = false
  const webhooks = (): readonly string[] => [...connections].flatMap(([name, one]) => (one.webhook ? [name] : []))
  return {
    start,
    stop,
    status,
    setPeople,
    webhooks,
    refuse: (channel, head) => webhookOf(channel).refuse(head),
    webhook: async (channel, request) => await webhookOf(channel).take(request),
    listener: (channel) => (request, response) => webhookOf(channel).listener(request, response),
    fetch: (channel) => async (request) => await webhookOf(channel).fetch(request),
    actOnPage,
    page: async (request) =>
      (await runPages?.handle(request)) ??
      new Response(config.web ? 'not ready\n' : 'not found\n', { status: config.web ? 503 : 404 }),
    pageAddress: config.web?.listen,
  }

  /** Receives an action on a page like a press, and resolves with what its person is told. */
  async function actOnPage(...[channel, action]: Parameters<Bridge['actOnPage']>): Promise<string | undefined> {
    if (!isListening || stopped) return texts.notTaken
    let told: string | undefined = texts.notTaken
    const answer = async (text?: string): Promise<void> => {
      told = text
    }
    try {
      await receiver.receive(channel, { ...action, type: 'page', answer })
      return told
    } catch (error) {
      if (error instanceof NotTakenError) return texts.notTaken
      throw error
    }
  }

  /** Returns the state of the bridge, the status of its channels, and its problems as sentences. */
  function status(): BridgeStatus {
    const channels = statuses.all()
    const stalled = membership.problem()
    // The other reasons to wait are as usual: with this one, the configs differ.
    const otherLayout = waitingFor === 'layout' ? waitingNotices.layout : undefined
    const disconnected = Object.entries(channels).flatMap(([name, one]) =>
      one.status === 'disconnected' ? [disconnectedMessage(name, one)] : [],
    )
    return {
      state: stateNow(stalled !== undefined, disconnected.length > 0),
      channels,
      problems: [stalled, otherLayout, ...disconnected].filter((one) => one !== undefined),
    }
  }

  /** Returns the state. `stalled` also applies to a bridge that waits, because it could not join. */
  function stateNow(isStalled: boolean, isDisconnected: boolean): BridgeStatus['state'] {
    if (stopped) return hasStopped ? 'stopped' : 'stopping'
    if (isStalled) return 'stalled'
    if (membership.isWaiting()) return 'standby'
    if (!isListening) return 'starting'
    if (!isHeld()) return 'stalled'
    return isDisconnected ? 'disconnected' : 'ready'
  }

  /** Returns what works under a lease. */
  function leaseUserOf({ name }: HeldLease): LeaseUser {
    if (name === listenerLeaseName) return boundChats
    if (name.startsWith(shardLeasePrefix)) return shards
    return name.startsWith(serverLeasePrefix) ? serverWatches : listeners
  }

  /**
   * Returns what the next beat asks for: what all members must have in common, and the leases that this process wants. It must be
   * alone while the rows have another layout.
   */
  async function request(): Promise<Omit<BeatRequest, 'member' | 'forMs'>> {
    // Not by `state`, which would retry: a beat that fails tells why this process can't join.
    const stored = hasLayout ? layout : await store.read(layoutKey)
    hasLayout = stored === layout
    hasOtherLayout = !hasLayout && stored !== undefined
    if (!hasLayout) return { layout, isAlone: true, wants: { [stateLeaseName]: [stateLeaseName] }, budgets: {} }
    const wants: Record<string, readonly string[]> = {}
    if (takesPart !== 'in nothing') wants.shard = allShards.map((name) => `${shardLeasePrefix}${name}`)
    if (takesPart === 'in all')
      for (const name of [...listeners.names(), ...serverWatches.names()]) wants[name] = [name]
    return { layout, wants, budgets: budgets.request() }
  }

  /** Replaces the people. Throws if the list does not fit the rest of the config, and changes nothing then. */
  function setPeople(list: BridgeConfig['people']): void {
    people.replaceAll(parseConfig({ ...config, people: list }).people)
  }

  /** Starts, the first time. Later calls resolve or reject with the first one. If it fails, stops the bridge and rejects. */
  async function start(): Promise<void> {
    started ??= startOnce()
    try {
      await started
    } catch (error) {
      await stop()
      throw error
    }
  }

  /** Returns the environment of programs that the bridge runs: that of this process, without the bridge's secrets. */
  function programEnv(): Readonly<Record<string, string | undefined>> {
    const secretNames = new Set(secretNamesIn(config))
    return Object.fromEntries(Object.entries(process.env).filter(([name]) => !secretNames.has(name)))
  }

  /**
   * Creates the channels, joins the members, checks the channels' tokens, restores what earlier processes left in the shards of this
   * one, and then starts the channels. Rejects if a server is exposed, if the state is only a part of an import, if one of the steps fails, or if the
   * bridge is stopped meanwhile.
   */
  async function startOnce(): Promise<void> {
    runPages = config.web && createRunPages({ ...pageSource, web: config.web, secret, clock })
    transcriber =
      config.transcribe && createTranscriber({ config: config.transcribe, secret, env: programEnv(), clock })
    const [created] = await Promise.all([
      Promise.all(Object.entries(config.channels).map(([name, entry]) => connectChannel(name, entry))),
      ...Object.values(config.servers).map((server) => requireUnexposed(server, clock)),
    ])
    requireNoticeTargets()
    const withChats = created.filter((one) => one !== undefined)
    for (const [name, { posts }] of withChats) if (posts === 'listener') listenerChannels.add(name)
    layout = layoutOf(config, listenerChannels)
    await joinWithLayout()
    for (const [name, connection] of withChats) {
      connections.set(name, connection)
      if (!listenerChannels.has(name)) posting.set(name, connection)
    }
    const checked = listeners.checkTokens()
    // A rejection is found below.
    checked.catch(() => {})
    for (const name of serverNames) servers.set(name, await connectToServer(name))
    // With a token that is refused, it would take shards from others, fail to post in their chats, and start again and again.
    await waitAtMost(checked, checkMs, clock)
    starting.signal.throwIfAborted()
    stopHints = store.watch(onHint)
    takesPart = 'in shards'
    await beatWithRetries()
    await shards.whenRestored()
    starting.signal.throwIfAborted()
    takesPart = 'in all'
    await beatWithRetries()
    await Promise.all([shards.whenRestored(), listeners.whenStarted(), listeners.startOthers(), checked])
    starting.signal.throwIfAborted()
    isListening = true
    receiver.start()
    setMenus()
    scheduleSweep()
    for (const name of serverNames) for (const warning of warningsOf(config, name)) onNotice(warning)
    const here = Object.entries(statuses.all()).flatMap(([name, { status: one }]) =>
      one === 'elsewhere' ? [] : [name],
    )
    onNotice(here.length > 0 ? `Listening on ${here.join(', ')}.` : 'Ready. Other processes listen to the channels.')
  }

  /** Joins the members and gives the rows this config's layout. Joins again if another process takes over meanwhile. */
  async function joinWithLayout(): Promise<void> {
    for (;;) {
      await membership.join(starting.signal)
      await requireWholeState(store)
      await loadMoves()
      try {
        return await changeLayout()
      } catch (error) {
        if (!isTakenOver(error)) throw error
      }
    }
  }

  /** Moves the rows to the shards of this config's layout, unless they have it. This process is the only member meanwhile. */
  async function changeLayout(): Promise<void> {
    if (hasLayout || !stateLease) return
    const commit = createLeasedCommit({ store, lease: stateLease, clock, stopping: starting.signal })
    await moveRows({ state, commit, mirrors })
    await commit([{ type: 'put', key: layoutKey, value: layout }])
    hasLayout = true
    // Not awaited: the next beat says what this process wants.
    void stateLease.release().catch(onError)
    stateLease = undefined
  }

  /** Beats now. Waits while the store is busy, until the bridge stops. */
  async function beatWithRetries(): Promise<void> {
    await state.withRetries(membership.beat)
  }

  /** Does at once what another process told: it released leases, was told to pause, or stored something for this one. */
  function onHint(hint: string): void {
    receiver.onHint(hint)
    for (const { server, sessionID } of toFollowHint(hint)) serverWatches.lookAgain(server, sessionID)
    if (hint === '') for (const server of serverNames) serverWatches.lookAgain(server)
    // After `stop`, it takes none of the leases that are free.
    if (hint === 'frozen' || hint === 'demand' || (hint === 'free' && !stopped)) beatNow()
  }

  /** Beats now. Ignores errors, because the next regular beat is soon. */
  function beatNow(): void {
    void membership.beat().catch(() => {})
  }

  /** Sets the menus of the channels, once this process listens and has a shard. */
  function setMenus(): void {
    const [shard] = shards.all()
    if (hasMenus || !isListening || !shard) return
    hasMenus = true
    for (const { setCommands } of connections.values()) void setCommands?.(shard.menu).catch(onError)
  }

  /**
   * Creates the reports of late edits of a channel. For a reply that this process has not shown, because its shard moved here
   * since, the shard follows the run again.
   */
  function newLateEdits(channel: string): ChannelLateEdits {
    return createLateEdits(state, channel, (key) => {
      const ledger = ledgerKeyOf(key)
      const shard = ledger && shards.find(shardOf({ channel, chat: ledger.chat }, mirrors))
      if (!shard) return undefined
      return { shard, showAgain: () => void shard.showAgain(ledger.sessionID, ledger.promptID).catch(onError) }
    })
  }

  /** Calls the listeners for late edits of all channels. */
  function callLateListeners(): void {
    for (const edits of lateEdits.values()) void edits.callListeners().catch(onError)
  }

  /** Returns the reports of late edits of a channel. */
  function lateEditsOf(channel: string): ChannelLateEdits {
    const edits = lateEdits.get(channel) ?? newLateEdits(channel)
    lateEdits.set(channel, edits)
    return edits
  }

  /**
   * Creates the connection of a channel, and resolves with its name and the connection, which is not started yet. Uses that of
   * the options if they have one. Creates the connection of a channel that only notifies, and resolves with undefined. Rejects if
   * the package can't be loaded, or the entry does not fit its schema.
   */
  async function connectChannel(
    name: string,
    entry: BridgeConfig['channels'][string],
  ): Promise<[string, BridgeConnection] | undefined> {
    const channelHost: ChannelHost = {
      name,
      secret,
      chats: async () => await seen.chatsOf(name),
      onInbound: async (inbound, id) => await receiver.receive(name, inbound, id),
      onInboundStatus: (status) => statuses.setStatus(name, status),
      onMoved: async (move) => await storeMove(name, move),
      share: async (chats, fact) => await facts.share(name, chats, fact),
      onUndelivered: (chat, message) => {
        const place = { channel: name, chat }
        undelivered.add(shardOf(place, mirrors), place, message)
      },
      onError,
      clock,
    }
    const connect = options.connections?.[name]
    if (connect) return [name, await connect(channelHost)]
    const channel = await load(entry.type)
    if (!isNoticeChannel(channel)) {
      const { schema, create } = channel
      return [name, await create(parseChannel(schema, name, entry), channelHost)]
    }
    const fields = parseChannel(channel.schema, name, entry)
    const connection = await channel.create(fields, { secret, clock })
    noticeTargets.set(name, { connection, fields, pausedUntil: Number.NEGATIVE_INFINITY })
    return undefined
  }

  /** Throws if a person is to get notices from a channel with chats. */
  function requireNoticeTargets(): void {
    const faults = Object.entries(config.people).flatMap(([person, { notify = [] }]) =>
      notify.flatMap((name, index) =>
        noticeTargets.has(name)
          ? []
          : [`people.${person}.notify.${index}: "${name}" has chats. Name a channel that only notifies.`],
      ),
    )
    if (faults.length > 0) throw new BridgeError('config', faults.join('\n'))
  }

  /**
   * Connects to a server of the config, or starts its agent. Uses the client of `connectTo` if that returns one. Rejects if the
   * config has no such server, and like `connectServer`.
   */
  async function connectToServer(name: string): Promise<Client> {
    const ownClient = options.connectTo?.(name)
    if (ownClient) return ownClient
    const server = config.servers[name]
    if (!server)
      throw new BridgeError('config', `The config has no server "${name}". Servers: ${serverNames.join(', ')}.`)
    // A prompt waits for its server as long as a run may make no progress.
    const connectTimeoutMs = config.router.timeoutMs
    const secretNames = secretNamesIn(config)
    const shared = { secret, secretNames, connectTimeoutMs, whenHeld, onError, clock: withoutCallLease(clock) }
    return await connectServer(server, shared)
  }

  /** Removes expired values and entries of the backlog every `sweepMs` until `stopSweep`. Reports errors. */
  function scheduleSweep(): void {
    stopSweep = clock.after(sweepMs, () => {
      void state
        .sweep()
        .then(async () => void (await Promise.all(shards.all().map(async (shard) => await shard.sweep()))))
        .catch(onError)
      scheduleSweep()
    })
  }

  /** Emits the numbers of this process after a beat, and which shards it took and gave back. */
  function emitBeat({ sinceLastMs, isLate }: BeatTiming): void {
    emitShards()
    emit({
      type: 'beat',
      at: clock.wall(),
      ...(sinceLastMs !== undefined && { sinceLastMs }),
      isLate,
      members: membership.others() + 1,
      shards: shards.owned().length,
      restoring: shards.restoring().length,
      oldestMs: oldestMs(),
      budgets: budgets.shares(),
    })
  }

  /** Returns how long the oldest message waits, in ms. The process that received it may have a clock that is ahead. */
  function oldestMs(): number {
    const times = [...intakes.values()].flatMap((intake) => intake.oldestAt() ?? [])
    return Math.max(0, clock.now() - Math.min(clock.now(), ...times))
  }

  /** Emits which shards this process took and gave back since the last time, if it did. Not again within `shardsMs`. */
  function emitShards(): void {
    if (clock.monotonic() - shardsEmittedAt < shardsMs) return
    if (emitShardsNow()) shardsEmittedAt = clock.monotonic()
  }

  /** The same at once. Returns whether it did. */
  function emitShardsNow(): boolean {
    const changes = shards.takeChanges()
    if (!changes) return false
    emit({ type: 'shards', at: clock.wall(), owned: shards.owned(), restoring: shards.restoring(), ...changes })
    return true
  }

  /** Emits what happened to the membership. */
  function emitMember(status: MemberEvent['status']): void {
    emit({ type: 'member', at: clock.wall(), status })
  }

  /** Stops the bridge, the first time. Later calls resolve with the first one. */
  function stop(): Promise<void> {
    stopped ??= stopOnce()
    return stopped
  }

  /**
   * Stops in an order in which nothing posts through a closed connection. All steps share `stopMs`, and a step that is not done
   * by then is left. Leaves the members and closes the store at the end, also if the store does not respond.
   */
  async function stopOnce(): Promise<void> {
    starting.abort()
    membership.quit()
    isListening = false
    stopSweep()
    serverWatches.stop()
    const deadline = clock.now() + stopMs
    const left = (): number => Math.max(0, deadline - clock.now())
    // The others have room for its shards once the store knows that it wants none.
    if (isHeld() && membership.others() > 0)
      await waitAtMost(Promise.allSettled([membership.beat()]), lastBeatMs, clock)
    // Sinks post through the connections.
    const shardsMs = left() - channelsMs
    await (membership.others() > 0 ? shards.handOver(shardsMs) : shards.stopAll(shardsMs))
    await waitAtMost(Promise.allSettled([listeners.stopAll()]), left(), clock)
    // Until here, others may have received something for the shards that are left, or answered a press that this process received.
    runPages?.close()
    receiver.stop()
    stopHints()
    await waitAtMost(
      Promise.allSettled([...servers.values()].map(async (server) => await server.close())),
      left(),
      clock,
    )
    const wasMember = isHeld()
    let isClosing = false
    const gone = membership.leave().catch((error: Error) => isClosing || onError(error))
    await waitAtMost(gone, leaveMs, clock)
    isClosing = true
    await store.close()
    hasStopped = true
    emitShardsNow()
    if (wasMember) emitMember('left')
  }

  /**
   * Returns the webhook of a channel, always the same one, because it limits the bodies that are read at the same time. It
   * responds with 503 before the start, and while this process is not a member. For a channel without a webhook, returns one that
   * refuses every request: with 503 before the start, and with 404 after that or for an unknown channel.
   */
  function webhookOf(channel: string): Webhook {
    const existing = hooks.get(channel)
    if (existing) return existing
    const connected = connections.get(channel)?.webhook
    if (!connected) return isListening || config.channels[channel] === undefined ? unknownWebhook : earlyWebhook
    const webhook = createWebhook({
      // With 503, the platform redelivers the request.
      refuse: (head) => (isListening && isHeld() ? connected.refuse(head) : { status: 503 }),
      take: connected.take,
      maxBytes: connected.maxBytes,
      clock,
    })
    hooks.set(channel, webhook)
    return webhook
  }
}

/** The name of the lease for changes of the whole state, and the key of the layout that its rows have. */
const stateLeaseName = 'state'
const layoutKey = 'layout'

/** What works under leases. */
type LeaseUser = Pick<OwnedShards, 'add' | 'drop'>

/** Returns what all members must have in common, because it decides which shard a chat belongs to. */
function layoutOf({ mirrors }: Pick<BridgeConfig, 'mirrors'>, listenerChannels: ReadonlySet<string>): string {
  const listener = [...listenerChannels].toSorted()
  return JSON.stringify({ shards: shardCount, mirrors, ...(listener.length > 0 && { listener }) })
}

/** What is said while a process waits to join. */
const waitingNotices = {
  full: 'Another process uses this state. Waiting for it to exit.',
  locked: 'The state is locked or unreachable. Waiting for it.',
  alone: 'Another process uses this state alone. Waiting for it to exit.',
  layout: 'Another process uses this state with other `mirrors` or linked devices. Waiting for it to exit.',
}

/** Returns a webhook that responds to each request with a status. */
function refusingWebhook(status: number): Webhook {
  return createWebhook({ refuse: () => ({ status }), take: () => ({ status }) })
}

/** Creates the connection of a channel. Makes no call to the platform. */
export type Connect = (host: ChannelHost) => BridgeConnection | Promise<BridgeConnection>

/** Options of `createBridge`. */
export interface BridgeOptions {
  /** A checked config, from `parseConfig`. */
  readonly config: BridgeConfig
  /** Keeps what must survive a restart, for example `sqliteStore`. The bridge closes it when it stops. */
  readonly store: Store
  /** Reads the config's secrets. Default: from the process's environment, and from files below the working directory. */
  readonly secret?: ((source: SecretSource) => string) | undefined
  /**
   * Absolute paths of files and folders that no agent may access, for example the config, the state and the files of
   * secrets. The bridge refuses a prompt if its session works in a folder that contains one. Default: none.
   */
  readonly ownPaths?: readonly string[] | undefined
  /** Called with errors that the bridge recovers from. Default: they are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Called with notices for the operator, for example that the bridge waits for another process. Default: none. */
  readonly onNotice?: ((notice: string) => void) | undefined
  /** Called with each event, for logs, metrics and traces: see `bridgeLog`. Their errors go to `onError`. Default: none. */
  readonly observers?: readonly BridgeObserver[] | undefined
  /** Loads the package of a channel. Default: `@reply/<type>`. */
  readonly load?: LoadChannel | undefined
  /**
   * Channels with your own clients, by their names in the config. Create them with `telegramConnection` and its
   * counterparts in the other channel packages. Of such a channel's entry in the config, only `policy` and `texts` are
   * read. Default: none.
   */
  readonly connections?: Readonly<Record<string, Connect>> | undefined
  /** Connects to a server of the config by its name. Default: `connect` of `@reply/core`. */
  readonly connectTo?: ((name: string) => Client) | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** The status of a bridge. */
export interface BridgeStatus {
  /**
   * - `starting`: it does not receive messages yet.
   * - `standby`: it can't share the state with the process that uses it, and waits until that one exits.
   * - `ready`: it works. Each channel receives messages here, or in another process if only one can listen to it.
   * - `disconnected`: at least one channel receives nothing here and keeps trying.
   * - `stalled`: it makes no calls, because it can't write its state. On standby: it can't join.
   * - `stopping`: `stop` was called. It receives nothing any more, and gives its chats to other processes.
   * - `stopped`: it has stopped.
   */
  readonly state: 'starting' | 'standby' | 'ready' | 'disconnected' | 'stalled' | 'stopping' | 'stopped'
  /** A sentence for each current problem, without secrets. Empty if there are none. */
  readonly problems: readonly string[]
  /**
   * Each channel by its name, once it listens here or elsewhere. A channel with a webhook, or with a client of your own program,
   * always counts as receiving.
   */
  readonly channels: Readonly<Record<string, ChannelStatus>>
}

/** Connects chats with servers. */
export interface Bridge {
  /**
   * Waits until no other process uses the state, picks up the runs of an earlier process, then starts the channels.
   * Rejects if the config doesn't fit a channel, if a platform refuses its token, or if the state is only a part of an import.
   */
  start(): Promise<void>
  /** Returns the current state, problems, and whether each channel receives messages. */
  status(): BridgeStatus
  /** Stops the channels, stores what was received, and resolves within 10 s. Runs on the servers continue. */
  stop(): Promise<void>
  /**
   * Replaces the people and their rights. This affects everything that is decided later: new messages, queued prompts,
   * and presses on messages that are already on a screen. Throws `BridgeError` of type `config` for an invalid list, and
   * then changes nothing. `openBridge` calls it when its file changes.
   */
  setPeople(people: BridgeConfig['people']): void
  /** Names of the webhook channels. Empty before `start` has created them. */
  webhooks(): readonly string[]
  /**
   * Checks the head of a request, for frameworks that read bodies themselves. Undefined: read the body, then call `webhook`.
   */
  refuse(channel: string, head: WebhookHead): WebhookAnswer | undefined
  /** Handles a request from the platform of a channel. 404 for a channel without webhooks, 503 before the start. */
  webhook(channel: string, request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a `node:http` request listener. */
  listener(channel: string): Webhook['listener']
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(channel: string): Webhook['fetch']
  /**
   * Carries out what a person did on the page of a run, in this process or in the one that owns the chat, within 2 s. Resolves with
   * why not, as a sentence for that person. Undefined if it was carried out. The person has the same rights as in the chat, so make
   * sure who it is before you call this.
   */
  actOnPage(channel: string, action: Omit<PageAction, 'type' | 'answer'>): Promise<string | undefined>
  /**
   * Responds to a request for the pages of runs, below the path of `web.publicUrl`. Responds with 404 if the config has no `web`, and
   * with 503 before the start.
   */
  page(request: Request): Promise<Response>
  /** Where the config wants the pages served, as `<host>:<port>`. Undefined if it doesn't say. */
  readonly pageAddress?: string | undefined
}
