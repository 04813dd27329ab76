import { randomUUID } from 'node:crypto'
import { type Client, steadyClock, systemClock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  createWebhook,
  type Hearing,
  type KnownChat,
  keepSecret,
  type Webhook,
} from '@reply/sink/channel'
import { safeError, safeOnError } from '@reply/sink/internal'
import { createAllowed } from './asks/allowed.ts'
import { createAnsweredBy } from './asks/answered-by.ts'
import { createAnswerer } from './asks/answering.ts'
import { createAskWatch } from './asks/ask-watch.ts'
import type { Bridge, BridgeOptions, BridgeStatus } from './bridge-options.ts'
import { loadChannel } from './channel-loader.ts'
import { createChannels } from './channels.ts'
import { createCommands } from './commands/commands.ts'
import { parseChannel, parseConfig, sinkFieldsIn } from './config/config.ts'
import { secretsOf } from './config/load.ts'
import type { BridgeConfig } from './config/schema.ts'
import { BridgeError } from './error.ts'
import { emitTo } from './events/emit.ts'
import { createFailedDeliveries } from './failed/deliveries.ts'
import { readableState } from './failed/readable.ts'
import { createHearingStates, deafWords } from './hearing.ts'
import { createBacklog } from './intake/backlog.ts'
import { createIntake } from './intake/intake.ts'
import { createTakenMessages } from './intake/taken-messages.ts'
import { type BridgeLateCalls, createLateCalls } from './late-calls.ts'
import { createLeaseKeeper } from './lease-keeper.ts'
import { ledgersOf } from './ledgers.ts'
import { createMirrors } from './mirrors.ts'
import { createMoves } from './moves.ts'
import { createPeople } from './people/people.ts'
import type { ChatPlace } from './place.ts'
import { createRegistry } from './registry/registry.ts'
import { createRoutes } from './routes/routes.ts'
import { atMost } from './runs/at-most.ts'
import type { BridgeContext } from './runs/context.ts'
import { createRunner } from './runs/runner.ts'
import { connectServer, secretNamesIn } from './servers/connect-server.ts'
import { requireUnexposed } from './servers/exposed.ts'
import { createGuard } from './servers/guard.ts'
import { warningsOf } from './servers/warnings.ts'
import { createState } from './state.ts'
import { words } from './words.ts'

/** How long a stop may take, in ms. What is not handled by then is handled after the next start. */
const stopMs = 10_000
/** How often expired values are removed, in ms. */
const sweepMs = 600_000

/** Takes no requests: of a channel that has none, or not yet, so that the platform delivers them again. */
const unknown = closedWebhook(404)
const early = closedWebhook(503)

/** Makes a bridge. It does nothing before `start`. */
export function createBridge(options: BridgeOptions): Bridge {
  const { config, store, random = Math.random, load = loadChannel } = options
  const clock = options.clock ? steadyClock(options.clock) : systemClock
  const { secret: secretOf = secretsOf({ folder: process.cwd(), env: process.env }) } = options
  const secret: typeof secretOf = (source) => {
    const value = secretOf(source)
    keepSecret(value)
    return value
  }
  const { router } = config
  const { ownPaths = [] } = options
  const onError = safeOnError((error: Error) => options.onError?.(safeError(error)))
  const onNotice = options.onNotice ?? (() => {})
  const starting = new AbortController()
  const keeper = createLeaseKeeper({
    ...{ store, clock, holder: randomUUID() },
    onWaiting: () => onNotice('Another process works with this state. Waiting until it ends.'),
    onStalled: onError,
    onBack: () => onNotice('The state can be written again. Going on.'),
    onLost: end,
    onRenewed: () => {
      for (const late of lateCalls) void late.look().catch(onError)
    },
  })
  const { hold } = keeper
  const emit = emitTo(options.observers ?? [], onError)
  const written = createState({ store, keeper, clock, stopping: starting.signal, onError })
  const state = readableState({
    ...{ state: written, now: () => clock.now(), onError },
    onAside: (row) => failed.aside(row),
  })
  const connections = new Map<string, BridgeConnection>()
  const hooks = new Map<string, Webhook>()
  const lateCalls: BridgeLateCalls[] = []
  const servers = new Map<string, Client>()
  const moves = createMoves(state)
  const mirrors = createMirrors(config.mirrors, moves.former)
  const routes = createRoutes({
    state,
    clock,
    mirrors,
    servers: Object.keys(config.servers),
    routes: config.routes,
    former: moves.former,
  })
  const channels = createChannels({
    ...{ connections, state, hold, routes, clock, onError },
    sinkFields: sinkFieldsIn(config),
  })
  const registry = createRegistry({ state, mirrors, clock, random })
  const failed = createFailedDeliveries({
    state,
    registry,
    channels,
    former: moves.former,
    words,
    clock,
    emit,
    onError,
  })
  const people = createPeople(config.people)
  const directoryOf = (server: string): string | undefined => config.servers[server]?.directory
  const hearing = createHearingStates({ emit, onNotice, wallNow: clock.wall })
  const context: BridgeContext = {
    directoryOf,
    trustsPrompt: (server) => config.servers[server]?.trustPrompt === true,
    isAgent: (server) => config.servers[server]?.agent !== undefined,
    state,
    hold,
    isHeld: keeper.isHeld,
    registry,
    routes,
    mirrors,
    channels,
    people,
    servers,
    former: moves.former,
    guard: createGuard({ servers: config.servers, ownPaths, clock }),
    router,
    words,
    clock,
    wallNow: clock.wall,
    answeredBy: createAnsweredBy(),
    failed,
    emit,
    onError,
  }
  const asks = createAskWatch(context)
  const runner = createRunner({ ...context, asks })
  const backlog = createBacklog(context, runner)
  const allowed = createAllowed(context)
  const commands = createCommands({ ...context, runner }, backlog, allowed)
  const messages = createTakenMessages({ state, mirrors, clock })
  const intake = createIntake({
    context,
    runner,
    commands,
    answer: createAnswerer(context, runner, allowed),
    backlog,
    messages,
  })
  let stopSweep = (): void => {}
  let started: Promise<void> | undefined
  let stopped: Promise<void> | undefined
  let isHearing = false
  const webhooks = (): readonly string[] => [...connections].flatMap(([name, one]) => (one.webhook ? [name] : []))
  return {
    ...{ start, stop, webhooks, setPeople },
    status,
    refuse: (channel, head) => webhookOf(channel).refuse(head),
    webhook: async (channel, request) => await webhookOf(channel).take(request),
    listener: (channel) => (request, response) => webhookOf(channel).listener(request, response),
    fetch: (channel) => async (request) => await webhookOf(channel).fetch(request),
  }

  function status(): BridgeStatus {
    const channels = hearing.all()
    const stalled = keeper.problem()
    const deaf = Object.entries(channels).flatMap(([name, one]) =>
      one.status === 'deaf' ? [deafWords(name, one)] : [],
    )
    return {
      state: stateNow(stalled !== undefined, deaf.length > 0),
      channels,
      problems: [stalled, ...deaf].filter((one) => one !== undefined),
    }
  }

  function stateNow(isStalled: boolean, isDeaf: boolean): BridgeStatus['state'] {
    if (stopped) return 'stopped'
    if (!isHearing) return 'starting'
    if (isStalled) return 'stalled'
    return isDeaf ? 'deaf' : 'ready'
  }

  function setPeople(list: BridgeConfig['people']): void {
    people.set(parseConfig({ ...config, people: list }).people)
  }

  async function start(): Promise<void> {
    started ??= startOnce()
    try {
      await started
    } catch (error) {
      await stop()
      throw error
    }
  }

  async function startOnce(): Promise<void> {
    const [made] = await Promise.all([
      Promise.all(Object.entries(config.channels).map(([name, entry]) => makeChannel(name, entry))),
      ...Object.values(config.servers).map((server) => requireUnexposed(server, clock)),
    ])
    await keeper.take(starting.signal)
    for (const [name, connection] of made) connections.set(name, connection)
    for (const name of Object.keys(config.servers)) servers.set(name, await connectTo(name))
    for (const step of [moves.load, routes.load, registry.evict, runner.restore, backlog.restore, intake.restore]) {
      await step()
      starting.signal.throwIfAborted()
    }
    await Promise.all(
      [...connections].map(async ([name, connection]) => {
        await connection.start()
        hearing.began(name)
      }),
    )
    starting.signal.throwIfAborted()
    isHearing = true
    for (const { setCommands } of connections.values()) void setCommands?.(commands.menu).catch(onError)
    void failed.restore().catch(onError)
    sweep()
    for (const name of Object.keys(config.servers)) for (const warning of warningsOf(config, name)) onNotice(warning)
    onNotice(`Listening on ${[...connections.keys()].join(', ')}.`)
  }

  function onShown(place: ChatPlace, sessionID: string): void {
    for (const run of runner.followed(place)) if (run.execution().sessionID === sessionID) run.shown()
  }

  async function makeChannel(
    name: string,
    entry: BridgeConfig['channels'][string],
  ): Promise<[string, BridgeConnection]> {
    const late = createLateCalls(state, name, () => clock.now())
    lateCalls.push(late)
    const ledgers = ledgersOf({
      state,
      hold,
      late,
      routes,
      channel: name,
      serverOf: runner.serverOf,
      onShown,
      now: () => clock.now(),
    })
    const onInbound = async (inbound: Inbound): Promise<void> => await intake.receive(name, inbound)
    const chats = async (): Promise<readonly KnownChat[]> => await messages.chatsOf(name)
    const onHearing = (state: Hearing): void => hearing.told(name, state)
    const onMoved: ChannelHost['onMoved'] = async (move) => await moves.note(name, move)
    const host = { name, secret, onInbound, onHearing, onMoved, chats, onError, store: ledgers, clock }
    const own = options.connections?.[name]
    if (own) return [name, await own(host)]
    const { schema, create } = await load(entry.type)
    return [name, await create(parseChannel(schema, name, entry), host)]
  }

  async function connectTo(name: string): Promise<Client> {
    const given = options.connectTo?.(name)
    if (given) return given
    const server = config.servers[name]
    if (!server) throw new BridgeError('config', `There is no server "${name}".`)
    // A prompt waits as long for its server as a run may go without progress.
    const connectTimeoutMs = router.timeoutMs
    return await connectServer(server, {
      ...{ secret, secretNames: secretNamesIn(config), connectTimeoutMs, hold, onError, clock },
    })
  }

  function sweep(): void {
    stopSweep = clock.after(sweepMs, () => {
      void Promise.all([state.sweep().then(failed.count), registry.evict(), backlog.expire()]).catch(onError)
      sweep()
    })
  }

  function end(): void {
    if (stopped) return
    options.onEnd?.(new BridgeError('taken-over', 'Another process took over the state of this bridge.'))
    void stop().catch(onError)
  }

  function stop(): Promise<void> {
    stopped ??= stopOnce()
    return stopped
  }

  async function stopOnce(): Promise<void> {
    starting.abort()
    keeper.quit()
    isHearing = false
    stopSweep()
    backlog.stop()
    asks.stop()
    failed.stop()
    const deadline = clock.now() + stopMs
    for (const step of [
      // Sinks post through the connections.
      () => [runner.stop()],
      () => [...connections.values()].map(async (connection) => await connection.stop()),
      () => [intake.rest()],
      () => [...servers.values()].map(async (server) => await server.close()),
    ]) {
      await atMost(Promise.allSettled(step()), Math.max(0, deadline - clock.now()), clock)
    }
    await keeper
      .release()
      .catch(onError)
      .finally(async () => await store.close())
  }

  /** One for each channel: it bounds what is read at the same time. */
  function webhookOf(channel: string): Webhook {
    const known = hooks.get(channel)
    if (known) return known
    const connected = connections.get(channel)?.webhook
    if (!connected) return isHearing || config.channels[channel] === undefined ? unknown : early
    const made = createWebhook({
      // The platform delivers it again.
      refuse: (head) => (isHearing && keeper.isHeld() ? connected.refuse(head) : { status: 503 }),
      take: connected.take,
      maxBytes: connected.maxBytes,
      clock,
    })
    hooks.set(channel, made)
    return made
  }
}

function closedWebhook(status: number): Webhook {
  return createWebhook({ refuse: () => ({ status }), take: () => ({ status }) })
}
