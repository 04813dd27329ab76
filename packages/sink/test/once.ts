import { type Reply, textOf } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import type { Policy } from '../src/config.ts'
import { type Delivery, deliveryOf } from '../src/deliver/delivery.ts'
import { type Entry, isEditable, refOf } from '../src/ledger/entry.ts'
import { correctionOf } from '../src/ledger/keys.ts'
import { type Ledger, type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { createSink } from '../src/sink.ts'
import { createFake, type Fake, fakeRender } from '../src/testing/fake.ts'
import type { FakeFault, FakeOptions } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import { rest } from './scene.ts'
import { beginning, type Timeline } from './timeline.ts'

/** What fails while a timeline is shown. */
export interface Plan {
  readonly faults: readonly FakeFault[]
  /** The process dies at this wait for the port or the store (counted), before or after the call has done its work. */
  readonly crashes: readonly { readonly at: number; readonly isDone: boolean }[]
  readonly policy: Partial<Policy>
  readonly fake: Pick<FakeOptions, 'limits' | 'lacks' | 'stream' | 'lookUp'>
}

export interface Shown {
  readonly delivery: Delivery
  readonly fake: Fake
  /** Undefined if there was never anything to show. */
  readonly ledger: Ledger | undefined
  readonly reply: Reply
  readonly mode: Policy['delivery'] | undefined
  readonly isCrashed: boolean
  /** The end has less text than was shown on the way, or different text. */
  readonly isTakenBack: boolean
}

/** Plays a timeline under a plan to its end, on a fake clock. */
export async function showUnder({ states }: Timeline, plan: Plan): Promise<Shown> {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock, ...plan.fake, faults: plan.faults })
  const store = memoryStore()
  const crashes = [...plan.crashes]
  let waits = 0
  let life = 0
  let key = ''
  let delivery: Delivery | undefined
  let sink = live()
  let at = 0
  let newest = states[0]?.reply
  for (const { atMs, reply } of states) {
    await clock.advance(atMs - at, rest)
    at = atMs
    const isFirst = newest === reply
    newest = reply
    if (isFirst) sink.replyStarted?.({ type: 'replyStarted', reply })
    else sink.replyAmended?.({ type: 'replyAmended', reply })
    await rest()
  }
  // An amendment after the end is shown even if nothing awaits it.
  if (delivery) await clock.advance(700_000, rest)
  for (let waited = 0; waited < 7_200_000 && !delivery; waited += 5000) await clock.advance(5000, rest)
  await clock.advance(5000, rest)
  if (!delivery || !newest) throw new Error('The sink did not settle in time.')
  const due = textOf(newest)
  return {
    delivery,
    fake,
    ledger: toLedgerOf(await store.read(key)),
    reply: newest,
    mode: plan.policy.delivery,
    isCrashed: life > 0,
    isTakenBack: states.some(({ reply }) => !due.startsWith(textOf(reply))),
  }

  function live(): ReturnType<typeof createSink> {
    const mine = life
    const { policy } = plan
    const made = createSink({
      port: mortal(mine),
      render: fakeRender,
      chat: { id: 'chat' },
      store: mortalStore(mine),
      clock: { now: clock.now, after: (ms, run) => clock.after(ms, () => mine === life && run()) },
      secret: (length) => `${mine}${waits}`.padStart(length, 'x'),
      policy,
    })
    return made
  }

  /** When the process dies, its pending calls never resolve. */
  async function wait<T>(mine: number, act: () => Promise<T>): Promise<T> {
    if (mine !== life) return await never()
    waits += 1
    const crash = crashes.find((one) => one.at === waits)
    if (!crash) {
      const value = await act()
      return mine === life ? value : await never()
    }
    if (crash.isDone) await act().catch(() => {})
    life += 1
    // A process that ends frees what it shares with the others of this test.
    void sink.stop()
    setImmediateIn(() => {
      sink = live()
      if (newest) sink.replyStarted?.({ type: 'replyStarted', reply: newest })
      listen()
    })
    return await never()
  }

  function setImmediateIn(run: () => void): void {
    clock.after(500, run)
  }

  function listen(): void {
    void sink.settled().then((found) => {
      delivery = found
    })
  }

  function mortalStore(mine: number): LedgerStore {
    return {
      read: async (name) => {
        const text = await store.read(name)
        if (mine === life) queueMicrotask(listen)
        return text
      },
      write: (name, text) => {
        key = name
        return wait(mine, () => store.write(name, text))
      },
    }
  }

  function mortal(mine: number): ChannelPort {
    const { port } = fake
    const { edit, remove, upload, lookUp, stream } = port
    return {
      limits: port.limits,
      post: (bubble, options) => wait(mine, () => port.post(bubble, options)),
      ...(edit && { edit: (ref, bubble, options) => wait(mine, () => edit(ref, bubble, options)) }),
      ...(remove && { remove: (ref, options) => wait(mine, () => remove(ref, options)) }),
      ...(upload && { upload: (file, options) => wait(mine, () => upload(file, options)) }),
      ...(lookUp && { lookUp: (options) => wait(mine, () => lookUp(options)) }),
      ...(port.typing && { typing: port.typing }),
      ...(stream && {
        stream:
          stream.kind === 'preview'
            ? { ...stream, write: (bubble, options) => wait(mine, () => stream.write(bubble, options)) }
            : {
                ...stream,
                open: (piece, options) => wait(mine, () => stream.open(piece, options)),
                append: (ref, piece, options) => wait(mine, () => stream.append(ref, piece, options)),
                close: (ref, piece, options) => wait(mine, () => stream.close(ref, piece, options)),
              },
      }),
    }
  }
}

function toLedgerOf(text: string | undefined): Ledger | undefined {
  return text === undefined ? undefined : JSON.parse(text)
}

function never<T>(): Promise<T> {
  return new Promise(() => {})
}

/** What is wrong with the chat at the end. Empty if nothing is. */
export function judge({ fake, ledger, reply, mode, isCrashed, isTakenBack }: Shown): string[] {
  const problems: string[] = []
  // After a crash, a reply whose prompt was taken back looks like another reply.
  if (!ledger || (isCrashed && reply.promptIDs.length === 0))
    return textOf(reply) === '' ? [] : ['nothing was written down']
  const screen = new Map(fake.screen().map((message) => [message.id, message]))
  const isCorrected = ({ card }: Entry): boolean => ledger.entries.some((entry) => entry.card === correctionOf(card))
  const answers = ledger.entries.filter(
    (entry) => entry.type === 'answer' && refOf(entry) && !isCorrected(entry) && !entry.isReplaced,
  )
  const { undelivered, doubtful } = deliveryOf(ledger)
  const isMissing = undelivered.length > 0 || ledger.entries.some((entry) => entry.type === 'answer' && !refOf(entry))
  const order = answers.map((entry) => Number(refOf(entry)?.id))
  if (order.some((id, index) => index > 0 && id < (order[index - 1] ?? 0)))
    problems.push(`out of order: ${order.join(' ')}`)
  const isGone = answers.some(({ state }) => state === 'gone')
  const seen = answers.filter(({ state }) => state !== 'gone')
  const said = bare(seen.map(textIn).join('\n'))
  const due = bare(textOf(reply))
  // Without edits, posted text cannot be taken back.
  const canEdit = fake.port.limits.edits && mode !== 'append'
  const canUnsay = canEdit && !ledger.entries.some(isFixed)
  const sayable = bare(
    seen
      .filter((entry) => canEdit && !isFixed(entry))
      .map(textIn)
      .join('\n'),
  )
  const most = isTakenBack && !canUnsay ? sayable : said
  // A doubtful message may be there twice, whatever else is missing.
  const isThere = doubtful > 0 || !canUnsay ? isWithin(due, said) : said === due
  const isRight = isThere || ((isMissing || isGone) && (doubtful > 0 || isWithin(most, due)))
  // A correction, or a cut-off rest of a message with others below it, is posted at the end.
  const isLate = ledger.entries.some(({ card, isContinued }) => (isTakenBack && card.endsWith('!')) || isContinued)
  if (!isRight && !(isLate && sorted(said) === sorted(due))) problems.push(`it shows ${difference(said, due)}`)
  const known = new Set(ledger.entries.flatMap((entry) => refOf(entry)?.id ?? []))
  const strangers = [...screen.keys()].filter((id) => !known.has(id))
  if (strangers.length > doubtful)
    problems.push(`${strangers.length} messages that the sink does not know, ${doubtful} are doubtful`)
  const left = ledger.entries.filter(({ type, state }) => type === 'status' && state === 'shown')
  if (left.some(isEditable)) problems.push('a status is left')
  if (fake.isTyping()) problems.push('it still types')
  const isSaid = reply.outcome === 'completed' || ledger.entries.some(({ key }) => key === 'ending')
  if (!isSaid) problems.push('its end is not said')
  return problems

  /** The text without the line about changed files. A status below a text that can no longer be edited stays there. */
  function textIn(entry: Entry): string {
    const shown = fake.posted.find(({ id }) => id === refOf(entry)?.id)?.text ?? ''
    const text = shown.replace(/\n\n\*\d+ files?(?: · \\\+\d+ −\d+)?\*$/, '')
    return isFixed(entry) ? text.replace(/\n\n\*[^\n]*\*$/, '') : text
  }
}

function isFixed(entry: Entry): boolean {
  if (entry.state === 'failed') return entry.olderRef !== undefined
  return entry.state === 'shown' && !isEditable(entry)
}

function sorted(text: string): string {
  return [...text].toSorted().join('')
}

/** All letters of the first are in the second, in their order. */
function isWithin(a: string, b: string): boolean {
  let at = 0
  for (let unit = 0; unit < b.length; unit++) if (b[unit] === a[at]) at += 1
  return at >= a.length
}

/** Only letters: reopened fences, lists and quotes, and labels, are not the agent's text. */
function bare(text: string): string {
  return text
    .replaceAll(`*${texts.continued}*`, '')
    .replaceAll(`*${texts.correction}*`, '')
    .replace(/^(?:\s*(?:[-*>]|\d+[.)])(?=\s))+/gm, '')
    .replace(/(`{3,}|~{3,})\w*/g, '')
    .replace(/\s/g, '')
}

function difference(a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return `${JSON.stringify(a.slice(Math.max(0, at - 30), at + 60))} instead of …${JSON.stringify(b.slice(Math.max(0, at - 30), at + 60))}`
}

const kinds = ['edit', 'edit', 'edit', 'native', 'append', 'final'] as const

/** A random plan; the same seed makes the same plan. */
export function planBySeed(seed: number): Plan {
  const random = seededRandom(seed)
  const pick = (below: number): number => Math.floor(random() * below)
  const faults = Array.from({ length: pick(8) }, (): FakeFault => {
    const types = [
      'rate-limited',
      'rate-limited',
      'unreachable',
      'ambiguous',
      'done',
      'done',
      'deleted',
      'unparsable',
      'too-long',
      'fixed',
      'refused',
    ] as const
    const type = types[pick(types.length)] ?? 'done'
    return { call: 1 + pick(25), type, retryAfterMs: random() < 0.1 ? 600_000 : 1000 + pick(9000) }
  })
  const crashes = Array.from({ length: random() < 0.4 ? 1 + pick(3) : 0 }, () => ({
    at: 1 + pick(40),
    isDone: random() < 0.5,
  }))
  const lacks = random() < 0.25 ? (['edit', 'remove', 'stream'] as const) : random() < 0.2 ? (['remove'] as const) : []
  const limits = {
    ...(random() < 0.2 && { idempotent: true }),
    ...(random() < 0.15 && { editWindowMs: 3000 }),
    ...(random() < 0.5 && { maxLength: 4000 }),
    ...(lacks.length === 3 && { edits: false }),
  }
  const delivery = kinds[pick(kinds.length)] ?? 'edit'
  const verbosity = random() < 0.7 ? 'normal' : random() < 0.5 ? 'quiet' : 'verbose'
  const policy = { delivery, verbosity, reasoning: random() < 0.15 } as const
  // Drawn last, so that existing seeds keep their plans.
  const stream = random() < 0.6 ? 'append' : 'preview'
  const lookUp = random() < 0.4 ? 'exact' : random() < 0.5 ? 'probe' : undefined
  return { faults, crashes, policy, fake: { limits, lacks, stream, lookUp } }
}
