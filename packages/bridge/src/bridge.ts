import { randomUUID } from 'node:crypto'
import { type Client, type Clock, systemClock } from '@reply/core'
import { safeOnError, steadyClock } from '@reply/core/internal'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  createWebhook,
  type InboundStatus,
  keepSecret,
  type Webhook,
} from '@reply/sink/channel'
import { type SecretSource, safeError, type WebhookHead } from '@reply/sink/internal'
import { createAnsweredBy } from './asks/answered-by.ts'
import { createAskTimeouts } from './asks/ask-timeouts.ts'
import { createSavedGrants } from './asks/saved-grants.ts'
import { createChannelStatuses, disconnectedMessage } from './chats/channel-status.ts'
import { createChannels } from './chats/channels.ts'
import { createChatMigrations } from './chats/chat-migrations.ts'
import { type ChannelLateEdits, createLateEdits } from './chats/late-edits.ts'
import { ledgersOf } from './chats/ledgers.ts'
import { type LoadChannel, loadChannel } from './chats/load-channel.ts'
import { createRoutes } from './chats/routes.ts'
import { createSeenMessages } from './chats/seen-messages.ts'
import { createCommands } from './commands/dispatch.ts'
import { secretsOf } from './config/load.ts'
import { createMirrors } from './config/mirrors.ts'
import { parseChannel, parseConfig, sinkFieldsIn } from './config/parse.ts'
import type { BridgeConfig } from './config/schema.ts'
import { BridgeError } from './error.ts'
import { type BridgeObserver, emitTo } from './events/emit.ts'
import type { LeaseEvent } from './events/event.ts'
import { createFailedDeliveries } from './failed/failed-deliveries.ts'
import { createTries } from './failed/tries.ts'
import { withoutUnreadableRows } from './failed/unreadable-rows.ts'
import { createIntake } from './intake/intake.ts'
import { createReceiver } from './intake/receiver.ts'
import { createPeople } from './people/people.ts'
import { createRateLimit } from './people/rate-limit.ts'
import type { ChatPlace } from './place.ts'
import { createActiveRuns } from './runs/active-runs.ts'
import { createBacklog } from './runs/backlog.ts'
import { createRunner } from './runs/runner.ts'
import type { BridgeServices } from './runs/services.ts'
import { connectServer, secretNamesIn } from './servers/connect.ts'
import { createRequireSafe, requireUnexposed, warningsOf } from './servers/safety.ts'
import { createBridgeLease } from './state/bridge-lease.ts'
import { createRegistry } from './state/registry.ts'
import { createState } from './state/state.ts'
import type { Store } from './store/store.ts'
import { waitAtMost } from './timers.ts'
import { requireWholeState } from './transfer/transfer-state.ts'

/** How long a stop may take, in ms. Messages that are not handled by then are handled after the next start. */
const stopMs = 10_000
/** How long a stop waits at most until the tries of what is left over are undone, in ms. */
const undoMs = 1000
/** How long a stop waits at most until the lease is released, in ms. A lease that is not released expires by itself. */
const releaseMs = 1000
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
  const onError = safeOnError((error: Error) => options.onError?.(safeError(error)))
  const onNotice = options.onNotice ?? (() => {})
  const starting = new AbortController()
  const member = randomUUID()
  const lease = createBridgeLease({
    store,
    clock,
    holder: member,
    onWaiting: () => {
      emitLease('waiting')
      onNotice('Another process uses this state. Waiting for it to exit.')
    },
    onStalled: (error) => {
      emitLease('expired')
      onError(error)
    },
    onBack: () => {
      emitLease('held')
      onNotice('The state can be written again. Resuming.')
    },
    onLost: endTakenOver,
    onRenewed: () => {
      for (const edits of lateEdits) void edits.callListeners().catch(onError)
    },
  })
  const { whenHeld } = lease
  const emit = emitTo(options.observers ?? [], onError)
  const state = withoutUnreadableRows({
    state: createState({ store, lease, clock, stopping: starting.signal, onError }),
    now: () => clock.now(),
    onPutAside: (row) => failed.onRowPutAside(row),
    onError,
  })
  const connections = new Map<string, BridgeConnection>()
  const hooks = new Map<string, Webhook>()
  const lateEdits: ChannelLateEdits[] = []
  const servers = new Map<string, Client>()
  const migrations = createChatMigrations(state)
  const { withFirstID } = migrations
  const mirrors = createMirrors(config.mirrors, withFirstID)
  const serverNames = Object.keys(config.servers)
  const routes = createRoutes({ state, clock, mirrors, servers: serverNames, routes: config.routes, withFirstID })
  const sinkFields = sinkFieldsIn(config)
  const channels = createChannels({ connections, sinkFields, state, whenHeld, routes, clock, onError })
  const registry = createRegistry({ state, mirrors })
  const failed = createFailedDeliveries({ state, registry, channels, withFirstID, clock, emit, onError })
  const tries = createTries({ state, failed, clock, onError })
  const people = createPeople(config.people)
  const runs = createActiveRuns(mirrors)
  const statuses = createChannelStatuses({ emit, onNotice, clock })
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
    requireSafe: createRequireSafe({ servers: config.servers, ownPaths, clock }),
    clock,
    asks: createAskTimeouts({ state, channels, people, router: config.router, clock, onError }),
    answeredBy: createAnsweredBy(),
    failed,
    tries,
    emit,
    onError,
  }
  const runner = createRunner(services)
  const backlog = createBacklog(services, runner)
  const grants = createSavedGrants({ state, servers, clock })
  const commands = createCommands({ ...services, runner }, backlog, grants)
  const seen = createSeenMessages({ state, mirrors, clock })
  const rate = createRateLimit(config.router.messagesPerMinute, clock)
  const intake = createIntake({ services, runner, commands, grants, backlog, rate, withFirstID })
  const receiver = createReceiver({
    ...{ member, state, lease, channels, people, mirrors, seen, commands, isOld: backlog.isOld, clock, emit, onError },
    router: config.router,
    // One process owns all chats.
    ...{ stateOf: () => state, shardOf: () => 'all', intakes: new Map([['all', intake]]) },
  })
  let stopSweep = (): void => {}
  let started: Promise<void> | undefined
  let stopped: Promise<void> | undefined
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
  }

  /** Returns the state of the bridge, the status of its channels, and its problems as sentences. */
  function status(): BridgeStatus {
    const channels = statuses.all()
    const stalled = lease.problem()
    const disconnected = Object.entries(channels).flatMap(([name, one]) =>
      one.status === 'disconnected' ? [disconnectedMessage(name, one)] : [],
    )
    return {
      state: stateNow(stalled !== undefined, disconnected.length > 0),
      channels,
      problems: [stalled, ...disconnected].filter((one) => one !== undefined),
    }
  }

  /** Returns the state. `stalled` also applies to a bridge that waits, because it could not take over. */
  function stateNow(isStalled: boolean, isDisconnected: boolean): BridgeStatus['state'] {
    if (stopped) return 'stopped'
    if (isStalled) return 'stalled'
    if (lease.isWaiting()) return 'standby'
    if (!isListening) return 'starting'
    return isDisconnected ? 'disconnected' : 'ready'
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

  /**
   * Creates the channels, takes the lease, restores what earlier processes left, and then starts the channels. Rejects if a
   * server is exposed, if the state is only a part of an import, if one of the steps fails, or if the bridge is stopped meanwhile.
   */
  async function startOnce(): Promise<void> {
    const [created] = await Promise.all([
      Promise.all(Object.entries(config.channels).map(([name, entry]) => connectChannel(name, entry))),
      ...Object.values(config.servers).map((server) => requireUnexposed(server, clock)),
    ])
    await lease.takeLease(starting.signal)
    emitLease('held')
    await requireWholeState(store)
    for (const [name, connection] of created) connections.set(name, connection)
    for (const name of serverNames) servers.set(name, await connectToServer(name))
    for (const step of [migrations.loadMoves, tries.load, runner.restoreRuns, backlog.restoreBacklog, intake.restore]) {
      await step()
      starting.signal.throwIfAborted()
    }
    await Promise.all(
      [...connections].map(async ([name, connection]) => {
        await connection.start()
        statuses.markStarted(name)
      }),
    )
    starting.signal.throwIfAborted()
    isListening = true
    receiver.start()
    for (const { setCommands } of connections.values()) void setCommands?.(commands.menu).catch(onError)
    void failed.restoreReports(tries).catch(onError)
    scheduleSweep()
    for (const name of serverNames) for (const warning of warningsOf(config, name)) onNotice(warning)
    onNotice(`Listening on ${[...connections.keys()].join(', ')}.`)
  }

  /**
   * Tells the runs of a session that the place shows one of their messages, so that their events have the time of the first.
   */
  function markRunsShown(place: ChatPlace, sessionID: string): void {
    for (const run of runs.followed(place)) if (run.execution().sessionID === sessionID) run.onShown()
  }

  /**
   * Creates the connection of a channel, and resolves with its name and the connection, which is not started yet. Uses that of
   * the options if they have one. Rejects if the package can't be loaded, or the entry does not fit its schema.
   */
  async function connectChannel(
    name: string,
    entry: BridgeConfig['channels'][string],
  ): Promise<[string, BridgeConnection]> {
    const late = createLateEdits(state, name)
    lateEdits.push(late)
    const host: ChannelHost = {
      name,
      secret,
      store: ledgersOf({
        state,
        whenHeld,
        late,
        routes,
        channel: name,
        serverOf: runner.serverOfSession,
        onShown: markRunsShown,
      }),
      chats: async () => await seen.chatsOf(name),
      onInbound: async (inbound, id) => await receiver.receive(name, inbound, id),
      onInboundStatus: (status) => statuses.setStatus(name, status),
      onMoved: async (move) => await migrations.storeMove(name, move),
      onError,
      clock,
    }
    const connect = options.connections?.[name]
    if (connect) return [name, await connect(host)]
    const { schema, create } = await load(entry.type)
    return [name, await create(parseChannel(schema, name, entry), host)]
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
    return await connectServer(server, { secret, secretNames, connectTimeoutMs, whenHeld, onError, clock })
  }

  /** Removes expired values and entries of the backlog every `sweepMs` until `stopSweep`. Reports errors. */
  function scheduleSweep(): void {
    stopSweep = clock.after(sweepMs, () => {
      void Promise.all([state.sweep().then(failed.emitCounts), backlog.removeExpired()]).catch(onError)
      scheduleSweep()
    })
  }

  /** Emits what happened to the lease. */
  function emitLease(status: LeaseEvent['status']): void {
    emit({ type: 'lease', at: clock.wall(), status })
  }

  /** Calls `onTakenOver` and stops, unless the bridge is stopping already. */
  function endTakenOver(): void {
    emitLease('ended')
    if (stopped) return
    options.onTakenOver?.(new BridgeError('taken-over', 'Another process took over the state of this bridge.'))
    void stop().catch(onError)
  }

  /** Stops the bridge, the first time. Later calls resolve with the first one. */
  function stop(): Promise<void> {
    stopped ??= stopOnce()
    return stopped
  }

  /**
   * Stops in an order in which nothing posts through a closed connection. All steps share `stopMs`, and a step that is not done
   * by then is left. Releases the lease and closes the store at the end, also if the store does not respond.
   */
  async function stopOnce(): Promise<void> {
    starting.abort()
    lease.quit()
    isListening = false
    stopSweep()
    receiver.stop()
    backlog.stop()
    services.asks.stop()
    failed.stop()
    const deadline = clock.now() + stopMs
    for (const step of [
      // Sinks post through the connections.
      () => [runner.stop()],
      () => [...connections.values()].map(async (connection) => await connection.stop()),
      () => [intake.idle()],
      () => [...servers.values()].map(async (server) => await server.close()),
    ]) {
      await waitAtMost(Promise.allSettled(step()), Math.max(0, deadline - clock.now()), clock)
    }
    // Also after the deadline, because that is when messages are left over.
    await waitAtMost(undoTries().catch(onError), undoMs, clock)
    const hadLease = lease.current() !== undefined
    let isClosing = false
    const released = lease.release().catch((error: Error) => isClosing || onError(error))
    await waitAtMost(released, releaseMs, clock)
    isClosing = true
    await store.close()
    if (hadLease) emitLease('ended')
  }

  /** Undoes the tries of what the next process handles again, because this one was not killed by it. */
  async function undoTries(): Promise<void> {
    await tries.giveBack([...runner.undoTries(), ...(await backlog.undoTries()), ...intake.undoTries()])
  }

  /**
   * Returns the webhook of a channel, always the same one, because it limits the bodies that are read at the same time. It
   * responds with 503 before the start and without the lease. For a channel without a webhook, returns one that refuses every
   * request: with 503 before the start, and with 404 after that or for an unknown channel.
   */
  function webhookOf(channel: string): Webhook {
    const existing = hooks.get(channel)
    if (existing) return existing
    const connected = connections.get(channel)?.webhook
    if (!connected) return isListening || config.channels[channel] === undefined ? unknownWebhook : earlyWebhook
    const webhook = createWebhook({
      // With 503, the platform redelivers the request.
      refuse: (head) => (isListening && lease.isHeld() ? connected.refuse(head) : { status: 503 }),
      take: connected.take,
      maxBytes: connected.maxBytes,
      clock,
    })
    hooks.set(channel, webhook)
    return webhook
  }
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
  /** Called when the bridge ends because another process took over its state, and for no other reason. */
  readonly onTakenOver?: ((error: BridgeError) => void) | undefined
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
   * - `standby`: another process uses the state. It takes over when that one exits.
   * - `ready`: it receives messages from all channels.
   * - `disconnected`: at least one channel receives nothing and keeps trying.
   * - `stalled`: it makes no calls, because it can't write its state. On standby: it can't take over.
   * - `stopped`: `stop` was called.
   */
  readonly state: 'starting' | 'standby' | 'ready' | 'disconnected' | 'stalled' | 'stopped'
  /** A sentence for each current problem, without secrets. Empty if there are none. */
  readonly problems: readonly string[]
  /**
   * Each channel by its name, once it listens. A channel with a webhook, or with a client of your own program, always
   * counts as receiving.
   */
  readonly channels: Readonly<Record<string, InboundStatus>>
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
}
