import { createHandClock } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import {
  type PostedPrompt,
  type Reply,
  ReplyError,
  type ReplyObserver,
  type ReplyStream,
  textOf,
} from '../../src/index.ts'
import { createSharedServer, type SharedClient } from './shared-server.ts'

/** How many prompts a plan has. Each gets its answer, whatever happens. */
const promptCount = 6
/** The longest that a prompt may take, in ms. */
const mostMs = 120_000
/** How long a lease lasts after its owner stopped, in ms. */
const leaseMs = 4000

/** What else happens in a plan. */
export interface TakeoverOptions {
  /** A client at the desk also prompts the session, mostly while a prompt is on its way. */
  readonly hasDesk?: boolean
  /** The server makes the ids of prompts, and never runs a prompt that comes right before the end of a run. */
  readonly isOld?: boolean
}

/**
 * Plays prompts one after the other in a session. Each has an owner: a process that posts it, or finds it after the one before was
 * killed or stopped. Resolves with what is wrong, in words.
 */
export async function playTakeovers(
  seed: number,
  { hasDesk = false, isOld = false }: TakeoverOptions = {},
): Promise<readonly string[]> {
  const random = seededRandom(seed)
  const clock = createHandClock()
  const log: string[] = []
  const between = (from: number, to: number): number => Math.round(from + random() * (to - from))
  const isSlow = random() < 0.5
  let owner: SharedClient
  const delayMs = (): number => (random() < (isSlow ? 0.2 : 0.05) ? between(0, 1500) : between(0, 15))
  const stepMax = random() < 0.5 ? 10 : 200
  let posted: PostedPrompt | undefined
  /** A lease is of one process for one prompt. */
  const mayPrompt = (client: SharedClient, messageID: string | undefined): boolean =>
    client === owner && messageID === posted?.messageID
  const rules = isOld ? { version: '1.1.65', losesLatePrompts: true } : { version: '1.18.33', losesLatePrompts: false }
  const server = createSharedServer(clock, { mayPrompt, delayMs }, () => between(0, stepMax), rules)
  let desks = 0
  const clients: SharedClient[] = [server.connect(), server.connect(), server.connect()]
  owner = oneOf(clients)
  const wrong: string[] = []
  const rest = async (): Promise<void> => {
    for (let calm = 0; calm < 3; calm++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  if (random() < 0.3) oneOf(clients).opencode.watch({}, { observe: () => [] })
  let sessionID: string | undefined
  let turn = 0
  for (let n = 1; n <= promptCount; n++) await playPrompt(`prompt ${n}.`)
  for (const { opencode } of clients) await opencode.close()
  return wrong.length > 0 ? [...wrong, ...log] : []

  function oneOf<Item>(items: readonly Item[]): Item {
    const one = items[Math.floor(random() * items.length)]
    if (one === undefined) throw new Error('There is none.')
    return one
  }

  async function playPrompt(text: string): Promise<void> {
    posted = undefined
    const observers: { isSettled: boolean; readonly isOfOwner: () => boolean }[] = []
    const until = clock.now() + mostMs
    if (random() < 0.4) changeOwner()
    for (;;) {
      const result = follow(owner)
      const faultAt = random() < 0.5 ? clock.now() + between(0, random() < 0.5 ? 50 : 1500) : Number.POSITIVE_INFINITY
      let reply: Reply | Error | undefined
      void result.then(
        (settled) => {
          reply = settled
        },
        (error: Error) => {
          reply = error
        },
      )
      while (reply === undefined && clock.now() < Math.min(faultAt, until)) {
        happen()
        await clock.advance(5, rest)
      }
      if (reply === undefined && clock.now() < until) {
        await takeOver()
        continue
      }
      const shown = shownOf(reply)
      say(`${text} → ${shown}`)
      // A connection that keeps breaking may end a prompt, or lose its run, and its author is told so.
      const isRight = (server.dead.has(text) && isRefused(reply)) || isAnswer(reply, text)
      const isTold = shown.includes('unreachable') || (reply && !(reply instanceof Error) && reply.outcome === 'lost')
      if (!isRight && !isTold) wrong.push(`seed ${seed}: ${text} got: ${JSON.stringify(shown)}`)
      if (server.prompts.filter((taken) => taken === text).length > 1)
        wrong.push(`seed ${seed}: ${text} was taken more than once.`)
      if ([...server.answers.values()].filter(({ texts }) => texts.includes(text)).length > 1)
        wrong.push(`seed ${seed}: ${text} was run more than once.`)
      if (observers.some(({ isSettled, isOfOwner }) => isOfOwner() && !isSettled))
        wrong.push(`seed ${seed}: observers of ${text} never saw an end.`)
      sessionID = reply instanceof Error ? sessionID : (reply?.sessionID ?? sessionID)
      return
    }

    async function follow(client: SharedClient): Promise<Reply> {
      say(`client ${clients.indexOf(client)} ${posted ? 'finds' : 'posts'} ${text}`)
      if (!posted) return await post(client).result
      const again = async () => ({ sessionID, text })
      const resumed = await client.opencode.resume(posted, { again, observe: observeAs(client) })
      if (resumed.type === 'unknown') throw new Error('unknown')
      if (resumed.type === 'absent') return await post(client).result
      return await resumed.stream.result
    }

    function post(client: SharedClient): ReplyStream {
      const ownTurn = turn
      const onPosting = async (about: PostedPrompt): Promise<void> => {
        await new Promise<void>((resolve) => clock.after(between(0, 30), resolve))
        if (turn !== ownTurn) throw new Error('The lease was lost.')
        posted = about
        sessionID = about.sessionID
        if (hasDesk && random() < 0.7) clock.after(between(0, random() < 0.5 ? 20 : 300), promptAtDesk)
      }
      return client.opencode.prompt({ sessionID, text }, { onPosting, observe: observeAs(client) })
    }

    /** Each call of `observe` returns an observer that must see an end, as a chat's sink must. */
    function observeAs(client: SharedClient): () => readonly ReplyObserver[] {
      return () => {
        const seen = { isSettled: false, isOfOwner: () => client === owner }
        observers.push(seen)
        const markSettled = (): void => {
          seen.isSettled = true
        }
        return [{ replySettled: markSettled }]
      }
    }
  }

  /** Whether a reply is the run that answered the prompt, whole and alone. */
  function isAnswer(reply: Reply | Error | undefined, text: string): boolean {
    const own = [...server.answers].find(([, { texts }]) => texts.includes(text))
    if (!own || !reply || reply instanceof Error) return false
    const [id, { run }] = own
    return (
      reply.messages.some((message) => message.id === id) &&
      reply.messages.every((message) => server.answers.get(message.id)?.run === run) &&
      textOf(reply).includes(text)
    )
  }

  /** Whether a reply tells that the server does not run the prompt, and shows nothing. */
  function isRefused(reply: Reply | Error | undefined): boolean {
    return !!reply && !(reply instanceof Error) && reply.outcome === 'failed' && textOf(reply) === ''
  }

  function promptAtDesk(): void {
    if (sessionID === undefined) return
    desks += 1
    say(`desk ${desks}`)
    server.promptElsewhere(sessionID, `desk ${desks}.`)
  }

  function say(line: string): void {
    log.push(`  ${clock.now() % 10_000_000} ${line}`)
  }

  /** Small faults at any time. */
  function happen(): void {
    const drawn = random()
    if (hasDesk && random() < 0.004) promptAtDesk()
    if (drawn < 0.004) {
      const cut = oneOf(clients)
      say(`client ${clients.indexOf(cut)} is cut`)
      cut.cut()
    } else if (drawn < 0.012) server.sendNoise(600)
    else if (drawn < 0.014) {
      const frozen = oneOf(clients.filter((one) => one !== owner))
      say(`client ${clients.indexOf(frozen)} stops`)
      frozen.freeze(between(100, 9000))
    }
  }

  function changeOwner(): void {
    owner = oneOf(clients)
    turn += 1
    say(`client ${clients.indexOf(owner)} has it`)
  }

  /** Kills or stops the owner. Another one goes on when its lease has ended. */
  async function takeOver(): Promise<void> {
    const index = clients.indexOf(owner)
    const isKilled = random() < 0.5
    say(`client ${index} is ${isKilled ? 'killed' : 'stopped'}`)
    if (isKilled) {
      owner.kill()
      clients[index] = server.connect()
    } else owner.freeze(between(4500, 9000))
    const end = clock.now() + leaseMs + between(0, 1000)
    while (clock.now() < end) {
      happen()
      await clock.advance(50, rest)
    }
    const others = clients.filter((one) => one !== owner)
    owner = oneOf(others)
    turn += 1
    say(`client ${clients.indexOf(owner)} takes it over`)
  }
}

/** The text of a reply, or why it has none. */
function shownOf(reply: Reply | Error | undefined): string {
  if (reply === undefined) return 'nothing'
  if (reply instanceof ReplyError) return `${reply.type}: ${reply.message}`
  if (reply instanceof Error) return String(reply)
  return textOf(reply) || `${reply.outcome}: ${reply.error?.name} ${reply.error?.message}`
}
