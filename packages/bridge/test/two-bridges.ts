import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresStore } from '@reply/postgres'
import { callTool, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { type PostgresProxy, seededRandom, startPostgres, startPostgresProxy } from '@reply/testing/internal'
import { startTelegram } from '@reply/testing/telegram'
import { shardCount } from '../src/state/shard-of.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { texts } from '../src/texts.ts'
import { type Doubts, doubtsByChat, noDoubts } from './doubts.ts'
import { createShownFinals } from './shown-finals.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const stopping = fileURLToPath(new URL('./stop-in-call.mjs', import.meta.url))
const token = '42:secret'
/** Each has one live answer at a time. */
const chats = [1000, 1001, 1002, 1003, 1004]
const { notTaken } = texts

/** Where the state is that both bridges use. */
export type Engine = 'sqlite' | 'postgres'

/**
 * What happens in the middle of the answers. To a process that owns chats: it is killed; it is stopped past its lease and woken,
 * anywhere or right before it makes a call; or it alone can't use the state until the other one owns all chats, because it can
 * write no file (SQLite) or is cut off from the server (PostgreSQL). To the server: it crashes, and starts again before or after
 * the leases have expired (PostgreSQL alone).
 */
export type Fault = 'killed' | 'stopped' | 'stopped-in-call' | 'cut-off' | 'server-crashed'

/** The faults that each engine can have. */
export const faultsOf: Readonly<Record<Engine, readonly Fault[]>> = {
  sqlite: ['killed', 'stopped', 'stopped-in-call', 'cut-off'],
  postgres: ['killed', 'stopped', 'stopped-in-call', 'cut-off', 'server-crashed'],
}

/**
 * Two bridges on one state, and how often which fault hits them. On PostgreSQL both own chats. On SQLite one does, and the other
 * one waits. One that was hit and lives goes on as the other one.
 */
export interface Plan {
  readonly engine: Engine
  readonly fault: Fault
  readonly rounds: number
  readonly seed: number
}

/** What a plan left on the screen, on the server and in the state. */
export interface Played extends Plan {
  readonly finals: number
  /** Messages that show a final which another message shows, too. */
  readonly doubled: number
  /** Posts whose result is not known, as the ledgers count them. */
  readonly doubtful: number
  /** Those of them that are of messages that stay, not of a status. */
  readonly doubtfulLasting: number
  /** Finals that are not shown, and whose prompts were not refused either. */
  readonly missing: number
  /** Messages that showed a final, and show an older text now. */
  readonly overwritten: number
  /** Messages that showed an older text after their final for a while. */
  readonly reverted: number
  /** Prompts that the server or the model got more than once. */
  readonly promptsTwice: number
  /** From each fault until the other bridge owns all chats, in ms. After a crash of the server, from its start until the next call. */
  readonly takeoverMs: readonly number[]
  /** What is wrong, in words. Empty if nothing is. */
  readonly wrong: readonly string[]
}

/** The calls that a bridge is stopped in. */
const stoppedIn = ['sendRichMessage', 'editMessageText', 'editMessageText', 'prompt_async']
/** How long the server is away after a crash, in ms: shorter and longer than a lease, which lasts 4 s. */
const awayMs = [1000, 6000]
/** An answer that goes on for this long without any progress won't end, in ms. A loaded machine is slow, but goes on. */
const standstillMs = 60_000
const mostMs = 300_000
/** How long the bridges may take to be ready for the next fault, in ms. */
const readyMs = 120_000

const nameOf = (round: number, chat: number): string => `r${round}c${chat}`
const endingOf = (name: string): string => `This is the whole answer of ${name}.`

/** A bridge as a process of its own. */
interface Process {
  readonly name: string
  readonly child: ChildProcess
  /** Its own way to the server. Undefined on SQLite. */
  readonly proxy: PostgresProxy | undefined
  /** The lines of its log. */
  said(): string
  /** How many shards it owns and takes messages of, as the last line about them says. */
  owned(): number
  readonly ended: Promise<unknown>
}

/** The state that all bridges of a plan share. */
interface SharedState {
  /** What each config has as `state`. Undefined: the default, SQLite beside the config. */
  readonly config: object | undefined
  /** Starts a way to the server for one more process. Undefined on SQLite. */
  connect(): Promise<PostgresProxy | undefined>
  /** Opens it from outside. */
  open(): Promise<Store>
  crash(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

/** Two bridges on one state, in front of a real server. Resolves with what the chats, the server and the state show. */
export async function playTwoBridges({ engine, fault, rounds, seed }: Plan): Promise<Played> {
  const random = seededRandom(seed)
  const names = Array.from({ length: rounds }, (_, round) => chats.map((chat) => nameOf(round, chat))).flat()
  const scripts = Object.fromEntries(names.map((name) => [name, scriptOf(name, random() * 6)]))
  const model = await startModel({ scripts, chunkDelayMs: 60 })
  const server = await launchOpencode({ model, config: { permission: { bash: 'allow' }, extra: { snapshot: false } } })
  const telegram = await startTelegram({
    token,
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' })),
  })
  const shown = createShownFinals(telegram, chats)
  const folder = mkdtempSync(join(tmpdir(), 'reply-two-'))
  const state = engine === 'postgres' ? await inPostgres() : inFolder(join(folder, 'state'))
  const processes: Process[] = []
  const wrong: string[] = []
  const takeoverMs: number[] = []
  /** Bridges that were stopped past their lease, and when they were woken. */
  const woken: { readonly bridge: Process; readonly at: number }[] = []
  const refusals = new Map<number, number>()
  try {
    await play()
    return { engine, fault, rounds, seed, takeoverMs, ...(await judge(await withState(doubtsByChat))) }
  } finally {
    for (const { child, proxy } of processes) {
      child.kill('SIGKILL')
      await proxy?.close()
    }
    await telegram.close()
    await server.stop()
    await model.close()
    await state.remove()
    rmSync(folder, { recursive: true, force: true })
  }

  async function play(): Promise<void> {
    let alive: readonly Process[] = [await openNext()]
    for (let round = 0; round < rounds; round++) {
      if (alive.length < 2) alive = [...alive, await openNext()]
      await untilReady(alive)
      const callsBefore = telegram.calls.length
      const armed = fault === 'stopped-in-call' ? oneOf(alive.filter((one) => one.owned() > 0)) : undefined
      if (armed) arm(armed)
      for (const chat of chats) telegram.say(chat, `Go [scenario:${nameOf(round, chat)}]`)
      if (!armed) await pause(random() * 4000)
      if (fault === 'server-crashed') await crashServer(awayMs[round % awayMs.length] ?? 0)
      else await strike(armed ?? ownerSince(callsBefore, alive), alive, round)
      for (const chat of chats) await untilOver(chat, endingOf(nameOf(round, chat)))
      alive = alive.filter(isAlive)
    }
    // One that was hit last goes on, too.
    if (alive.length > 1) await untilReady(alive)
    // The last answers are on the screen before their status is gone.
    for (let waitedMs = 0; waitedMs < 15_000 && atWork() > 0; waitedMs += 200) await pause(200)
    for (const one of alive) {
      one.child.kill('SIGTERM')
      await one.ended
      if (one.child.exitCode !== 0) wrong.push(`${one.name} ended with ${one.child.exitCode}`)
    }
  }

  async function withState<T>(call: (store: Store) => Promise<T>): Promise<T> {
    const store = await state.open()
    try {
      return await call(store)
    } finally {
      await store.close()
    }
  }

  /** Each has an address of its own, so that its calls can be told from those of the others. */
  async function openNext(): Promise<Process> {
    const name = `bridge${processes.length}`
    const config = {
      servers: { home: { url: server.url, directory: server.directory } },
      channels: {
        tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: `${telegram.url}/${name}`, updates: 'polling' },
      },
      people: { ann: { ids: chats.map((chat) => `tg:${chat}`), may: ['prompt', 'approve'] } },
      router: { messagesPerMinute: 1000 },
      state: state.config,
    }
    const path = join(folder, `${name}.json`)
    writeFileSync(path, JSON.stringify(config))
    const opened = open({ name, path, isStoppable: fault === 'stopped-in-call', proxy: await state.connect() })
    processes.push(opened)
    return opened
  }

  /** Picks one at random. */
  function oneOf<T>(list: readonly T[]): T {
    const one = list[Math.floor(random() * list.length)]
    if (one === undefined) throw new Error('There is none.')
    return one
  }

  /** Has a bridge stop in one of its next calls. */
  function arm({ name }: Process): void {
    writeFileSync(join(folder, `${name}.json.armed`), `${oneOf(stoppedIn)}:${1 + Math.floor(random() * 4)}`)
  }

  /** Returns the bridge that posted in a chat of this round, so that the fault hits it in an answer. Any owner if none did. */
  function ownerSince(calls: number, alive: readonly Process[]): Process {
    const posted = telegram.calls.slice(calls).filter(({ method }) => isForPeople(method))
    const roots = posted.map(({ root }) => root)
    const active = alive.filter(({ name }) => roots.some((root) => root?.includes(name)))
    return oneOf(active.length > 0 ? active : alive.filter((one) => one.owned() > 0))
  }

  /** Waits until both own chats (PostgreSQL), or one owns all and the other one waits (SQLite). */
  async function untilReady(alive: readonly Process[]): Promise<void> {
    const areReady = (): boolean => {
      const isReady = (one: Process): boolean =>
        one.owned() > 0
          ? /Listening on|Ready\. Other processes listen/.test(one.said())
          : engine === 'sqlite' && one.said().includes('Waiting for it to exit')
      return alive.every(isReady) && alive.reduce((sum, one) => sum + one.owned(), 0) === shardCount
    }
    if (await isSoon(areReady, alive, readyMs)) return
    throw new Error(`The bridges never were ready: ${alive.map(({ name, said }) => `${name}: ${said()}`).join('\n')}`)
  }

  /** Hits a bridge. Resolves when the other one owns all chats, and the one that was hit goes on if it can. */
  async function strike(hit: Process, alive: readonly Process[], round: number): Promise<void> {
    const next = alive.find((one) => one !== hit)
    if (!next) throw new Error('There is no other bridge.')
    const isTakenOver = (): boolean => next.owned() === shardCount
    const areAnswered = (): boolean => chats.every((chat) => shown.has(chat, endingOf(nameOf(round, chat))))
    let struckAt = Date.now()
    const untilTakenOver = async (): Promise<void> => {
      if (!(await isSoon(isTakenOver, [next], readyMs))) throw new Error(`It never took over: ${next.said()}`)
      takeoverMs.push(Date.now() - struckAt)
    }
    switch (fault) {
      case 'killed':
        hit.child.kill('SIGKILL')
        return await untilTakenOver()
      case 'stopped':
        // One that is stopped within a write keeps the state of SQLite locked.
        do {
          hit.child.kill('SIGCONT')
          await pause(random() * 100)
          struckAt = Date.now()
          hit.child.kill('SIGSTOP')
        } while (!(await isSoon(isTakenOver, [next], 15_000)))
        takeoverMs.push(Date.now() - struckAt)
        // While the other shows what is open.
        await pause(random() * 1000)
        return wake(hit)
      case 'stopped-in-call':
        while (!isStopped(hit) && !areAnswered()) await pause(50)
        struckAt = Date.now()
        // It made fewer calls. To stop it anywhere might keep the state locked.
        if (!isStopped(hit)) {
          hit.child.kill('SIGKILL')
          return await untilTakenOver()
        }
        await untilTakenOver()
        // Also long after the other has shown everything, and has forgotten the prompts that never came.
        if (random() < 0.5) for (let waitedMs = 0; waitedMs < 30_000 && !areAnswered(); waitedMs += 50) await pause(50)
        await pause(random() * 1000)
        return wake(hit)
      case 'cut-off':
        if (hit.proxy) await hit.proxy.cutOff(round % 2 === 0 ? 'refuse' : 'silent')
        else limitFiles(hit, '0')
        await untilTakenOver()
        await pause(random() * 3000)
        if (hit.proxy) await hit.proxy.restore()
        else limitFiles(hit, 'unlimited')
        return
      case 'server-crashed':
        throw new Error('It hits both.')
      default:
        fault satisfies never
    }
  }

  function wake(bridge: Process): void {
    woken.push({ bridge, at: Date.now() })
    bridge.child.kill('SIGCONT')
  }

  /** Crashes the server, and starts it again after a time. Resolves when a bridge makes calls again. */
  async function crashServer(forMs: number): Promise<void> {
    await state.crash()
    await pause(forMs)
    await state.start()
    const backAt = Date.now()
    const isResumed = (): boolean => telegram.calls.some(({ at, method }) => at >= backAt && isForPeople(method))
    for (let waitedMs = 0; waitedMs < standstillMs && !isResumed(); waitedMs += 20) await pause(20)
    takeoverMs.push(Date.now() - backAt)
  }

  /** Waits until the chat shows the ending or a refusal, while anything goes on. */
  async function untilOver(chat: number, ending: string): Promise<void> {
    const startedAt = Date.now()
    let progress = 0
    let progressAt = startedAt
    while (!isOver(chat, ending)) {
      const now = Date.now()
      const reached = telegram.calls.filter(({ method }) => isForPeople(method)).length + model.requests.length
      if (reached > progress) progressAt = now
      progress = reached
      if (now - progressAt > standstillMs || now - startedAt > mostMs) return
      await pause(100)
    }
  }

  /** Whether it is answered, or refused as one that could not be written down. */
  function isOver(chat: number, ending: string): boolean {
    if (shown.has(chat, ending)) return true
    const count = shown.now(chat).filter((one) => one.includes(notTaken)).length
    if (count === (refusals.get(chat) ?? 0)) return false
    refusals.set(chat, count)
    return true
  }

  /** How many messages say that something is going on. */
  function atWork(): number {
    const all = chats.flatMap(shown.now)
    return all.filter((one) => /\b(?:Working|Writing|Starting|bash: Work)\b/.test(one)).length
  }

  /** Compares the screen and the server with the prompts. */
  async function judge(doubts: ReadonlyMap<string, Doubts>): Promise<Omit<Played, keyof Plan | 'takeoverMs'>> {
    const doubtsOf = (chat: number): Doubts => doubts.get(`tg:${chat}`) ?? noDoubts
    const finals = chats.flatMap((chat) =>
      Array.from({ length: rounds }, (_, round) => {
        const name = nameOf(round, chat)
        return { name, chat, ...shown.of(chat, endingOf(name)) }
      }),
    )
    const named = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).join()
    const missing = finals.filter(({ isShown }) => !isShown)
    // The other one makes its own edit again, or deletes the message.
    const late = woken.map(lateCallsOf)
    const lateCalls = late.flat().length
    for (const calls of late) {
      const again = calls.filter(({ chatId }, at) => calls.findIndex((one) => one.chatId === chatId) !== at)
      if (again.length > 0) wrong.push(`called after it was woken: ${again.map(({ chatId }) => chatId).join()}`)
    }
    const copied = finals.filter((final) => final.copies > 0)
    const copies = copied.reduce((sum, final) => sum + final.copies, 0)
    const copiesNow = copied.reduce((sum, final) => sum + final.copiesNow, 0)
    const doubtful = chats.reduce((sum, chat) => sum + doubtsOf(chat).posts, 0)
    const doubled = chats.filter((chat) => {
      const copiesOf = finals.filter((final) => final.chat === chat).reduce((sum, final) => sum + final.copiesNow, 0)
      return copiesOf > doubtsOf(chat).posts
    })
    const overwritten = finals.filter((one) => one.overwritten > 0)
    const reverted = finals.filter((one) => one.reverted > 0)
    const prompts = await promptsOnServer()
    const twice = names.filter((name) => {
      const asked = model.requests.filter((one) => one.kind === 'step' && one.scenario === name && one.step === 0)
      return asked.length > 1 || prompts.filter((one) => one.includes(`[scenario:${name}]`)).length > 1
    })
    // It is told, and then does not run.
    const refused = chats.flatMap(shown.now).filter((one) => one.includes(notTaken)).length
    if (missing.length !== refused) wrong.push(`missing: ${named(missing)}, and ${refused} were refused`)
    if (doubled.length > 0 || copies > doubtful + lateCalls)
      wrong.push(
        `${copies} finals were shown twice, ${copiesNow} still are, and ${doubtful} are counted, too few in chats ${doubled.join()}: ${named(copied)}`,
      )
    if (overwritten.length > 0) wrong.push(`overwritten by an older text: ${named(overwritten)}`)
    if (reverted.length > lateCalls) wrong.push(`showed an older text for a while: ${named(reverted)}`)
    if (twice.length > 0) wrong.push(`prompted twice: ${twice.join()}`)
    if (atWork() > doubtful) wrong.push(`${atWork()} messages are at work for ever`)
    // What is wrong comes last, because a long output loses its beginning.
    if (wrong.length > 0)
      wrong.unshift(
        processes.map(({ name, said }) => `${name}: ${said()}`).join('\n'),
        chats.map((chat) => `${chat}:\n${shown.now(chat).join('\n')}\n${callsIn(chat)}`).join('\n'),
      )
    return {
      finals: finals.length,
      doubled: copiesNow,
      doubtful,
      doubtfulLasting: chats.reduce((sum, chat) => sum + doubtsOf(chat).lasting, 0),
      missing: missing.length - refused,
      overwritten: overwritten.length,
      reverted: reverted.length,
      promptsTwice: twice.length,
      wrong,
    }
  }

  /** Returns the texts of all prompts that the server has. */
  async function promptsOnServer(): Promise<readonly string[]> {
    const sessions: readonly { readonly id: string }[] = await get('/session')
    const messages = await Promise.all(
      sessions.map(async ({ id }): Promise<readonly Stored[]> => await get(`/session/${id}/message`)),
    )
    return messages.flat().flatMap(({ info, parts }) => {
      return info.role === 'user' ? [parts.map(({ text = '' }) => text).join('')] : []
    })
  }

  async function get(route: string): Promise<ReturnType<typeof JSON.parse>> {
    const address = new URL(route, server.url)
    address.searchParams.set('directory', server.directory)
    return await (await fetch(address)).json()
  }

  /**
   * The calls that a bridge made after it was woken, until it owned chats again. It was stopped after its last look at the lease,
   * before they were sent. A chat has one call at a time.
   */
  function lateCallsOf({ bridge, at }: (typeof woken)[number]): typeof telegram.calls {
    const until = ownsAgainAt(bridge, at)
    return telegram.calls.filter(
      (one) => one.root === `/${bridge.name}` && isForPeople(one.method) && one.at >= at && one.at < until,
    )
  }

  /** Every call about a chat, with when and by which bridge it was made. */
  function callsIn(chat: number): string {
    const calls = telegram.calls.filter(({ chatId, method }) => chatId === chat && isForPeople(method))
    return calls
      .map(({ at, root, method, ok, payload }) => `${at} ${root} ${method} ${ok} ${JSON.stringify(payload)}`)
      .join('\n')
  }
}

/** A message as the server stores it. */
interface Stored {
  readonly info: { readonly role: string }
  readonly parts: readonly { readonly text?: string }[]
}

/** Whether people see what the call does. */
function isForPeople(method: string): boolean {
  return /^(send(?!ChatAction)|edit|delete)/.test(method)
}

function scriptOf(name: string, seconds: number): Scripts[string] {
  const bash = callTool('bash', { command: `sleep ${seconds.toFixed(1)}`, description: 'Work' })
  return { steps: [[sayText(`Beginning of ${name}.`, 4), bash], [sayText(endingOf(name), 3)]] }
}

/** A state in SQLite. */
function inFolder(folder: string): SharedState {
  const noServer = async (): Promise<void> => {
    throw new Error('SQLite has no server.')
  }
  return {
    config: undefined,
    connect: async () => undefined,
    open: async () => await sqliteStore({ folder }),
    crash: noServer,
    start: noServer,
    remove: async () => {},
  }
}

/** A state on a PostgreSQL server of its own. */
async function inPostgres(): Promise<SharedState> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  return {
    config: { type: 'postgres', url: { env: 'DATABASE_URL' } },
    connect: async () => await startPostgresProxy({ target: url }),
    open: async () => await postgresStore({ url }),
    crash: server.crash,
    start: server.start,
    remove: server.remove,
  }
}

/** Linux's letter for a process that is stopped. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function isStopped({ child }: Process): boolean {
  return / T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))
}

/** When a bridge that was woken says that it owns shards again. Infinity if it never does. */
function ownsAgainAt({ said }: Process, wokenAt: number): number {
  const lines = [...said().matchAll(/"time":(\d+).*"owned":\[(.*?)\]/g)].filter(([, time]) => Number(time) >= wokenAt)
  const lost = lines.findIndex(([, , owned]) => owned === '')
  const [, time = Infinity] = lines.slice(lost).find(([, , owned]) => owned !== '') ?? []
  return lost === -1 ? Infinity : Number(time)
}

/** Whether a process has not ended. */
function isAlive({ child }: Process): boolean {
  return child.exitCode === null && child.signalCode === null
}

/** Sets how large a file a process may write, as `prlimit` spells it. */
function limitFiles({ child }: Process, limit: string): void {
  execFileSync('prlimit', ['--pid', `${child.pid}`, `--fsize=${limit}:`])
}

function open({
  name,
  path,
  isStoppable,
  proxy,
}: Pick<Process, 'name' | 'proxy'> & { readonly path: string; readonly isStoppable: boolean }): Process {
  const loaded = isStoppable ? ['--import', stopping] : []
  const child = spawn(process.execPath, [...loaded, command, 'bridge', '--config', path, '--log'], {
    env: { ...process.env, TOKEN: token, DATABASE_URL: proxy?.url, STOP_IN: `${path}.armed` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let words = ''
  const hear = (chunk: Buffer): void => {
    words += String(chunk)
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  return {
    name,
    child,
    proxy,
    said: () => words,
    owned: () => {
      const [, all = '[]', restoring = '[]'] = /.*"owned":(\[.*?\]),"restoring":(\[.*?\])/s.exec(words) ?? []
      return JSON.parse(all).length - JSON.parse(restoring).length
    },
    ended: new Promise((resolve) => child.once('exit', resolve)),
  }
}

/** Waits until something is so. Resolves with false if it isn't in time. Throws if one of the bridges ends meanwhile. */
async function isSoon(check: () => boolean, bridges: readonly Process[], withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; !check() && waitedMs < withinMs; waitedMs += 20) {
    for (const one of bridges) if (!isAlive(one)) throw new Error(`${one.name} ended: ${one.said()}`)
    await pause(20)
  }
  return check()
}
