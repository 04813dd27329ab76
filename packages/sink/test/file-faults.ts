import type { Part, ReplyFile } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import type { Delivery } from '../src/deliver/delivery.ts'
import type { ReadFile } from '../src/deliver/file-loader.ts'
import { FileRefusal } from '../src/port/port-error.ts'
import { createChatModel, type Fault, type Kind, type ModelMessage } from './chat-model.ts'
import { chatKinds, createKilledSinks, singleFaults } from './killed-sinks.ts'
import { replyWith, settledWith } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/** What an answer with files consists of, and what goes wrong while it is shown. */
interface Plan {
  readonly kind: Kind
  /** Texts and files, in the order of the answer. Each step of the run adds one. */
  readonly pieces: readonly Piece[]
  readonly stepMs: number
  /** How many of the requests fail, beside the outage. */
  readonly rate: number
  /** In ms from the beginning. */
  readonly outage: { readonly from: number; readonly to: number; readonly fault: Fault } | undefined
  /** When the process is killed, in ms from the beginning. Another one goes on each time. */
  readonly kills: readonly number[]
}

type Piece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'files'; readonly names: readonly string[] }

const during: readonly Fault[] = ['unanswered', 'refused', 'reset-before', 'unavailable', 'limited', 'accepted-5xx']

function planBySeed(seed: number): Plan & { readonly random: () => number } {
  const random = seededRandom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const pieces = Array.from({ length: 1 + below(6) }, (_, at): Piece => {
    if (random() < 0.5) return { type: 'text', text: `Text ${at} of ${seed}: ${'x'.repeat(below(80))}.` }
    const extension = oneOf(['png', 'md'])
    // A file whose name begins so can't be read.
    const names = Array.from({ length: 1 + below(6) }, (__, index) =>
      [random() < 0.1 ? 'gone' : 'file', at, index].join('-').concat('.', extension),
    )
    return { type: 'files', names }
  })
  const stepMs = 100 + below(4000)
  const lengthMs = pieces.length * stepMs
  const from = below(lengthMs + 3000)
  return {
    kind: oneOf(chatKinds),
    pieces,
    stepMs,
    rate: oneOf([0, 0.05, 0.15, 0.3]),
    outage: random() < 0.4 ? { from, to: from + 500 + below(60_000), fault: oneOf(during) } : undefined,
    kills: Array.from({ length: below(3) }, () => below(lengthMs + 10_000)).toSorted((a, b) => a - b),
    random,
  }
}

/** The parts of the reply when it has so many pieces. */
function partsOf(pieces: readonly Piece[]): readonly Part[] {
  const place = { messageID: 'msg_2', status: 'sealed', raw: undefined } as const
  return pieces.flatMap((piece, at): readonly Part[] => {
    if (piece.type === 'text') return [{ ...place, type: 'text', id: `prt_${at}`, text: piece.text }]
    const attachments = piece.names.map((filename): ReplyFile => {
      const mime = filename.endsWith('.png') ? 'image/png' : 'text/plain'
      return { id: `prt_${filename}`, mime, url: `/project/${filename}`, filename }
    })
    const state = { status: 'completed', input: {}, attachments } as const
    return [{ ...place, type: 'tool', id: `prt_${at}`, tool: 'send_file', callID: `call_${at}`, state }]
  })
}

const readFile: ReadFile = async ({ filename = '' }) => {
  if (filename.startsWith('gone')) throw new FileRefusal('refused', `The file ${filename} is not there any more.`)
  return Buffer.from(filename)
}

interface Played {
  readonly delivery: Delivery
  readonly screen: readonly ModelMessage[]
}

async function play({
  kind,
  pieces,
  stepMs,
  rate,
  outage,
  kills,
  random,
}: ReturnType<typeof planBySeed>): Promise<Played> {
  const clock = createHandClock(beginning)
  const { port, screen } = createChatModel({ kind, clock, faultAt })
  const sinks = createKilledSinks({ port, clock, readFile })
  let killed = 0
  for (const [index] of pieces.entries()) {
    const parts = partsOf(pieces.slice(0, index + 1))
    sinks.show(index === pieces.length - 1 ? settledWith(parts, {}, index * stepMs) : replyWith(parts))
    await pass(stepMs)
  }
  await pass(11_000)
  return { delivery: await sinks.settled(), screen: screen() }

  function faultAt(now: number): Fault | undefined {
    const at = now - beginning
    if (outage && outage.from <= at && at < outage.to) return outage.fault
    return random() < rate ? singleFaults[Math.floor(random() * singleFaults.length)] : undefined
  }

  /** Lets time pass, and kills the process when it is due. */
  async function pass(ms: number): Promise<void> {
    const end = clock.now() + ms
    while (clock.now() < end) {
      const kill = kills[killed]
      const next = kill === undefined ? end : Math.min(end, Math.max(clock.now(), beginning + kill))
      await clock.advance(next - clock.now(), rest)
      if (kill === undefined || clock.now() < beginning + kill) continue
      killed += 1
      sinks.kill()
    }
  }
}

interface Judged {
  readonly problems: readonly string[]
  readonly files: number
  readonly copies: number
}

/** What the people of the chat would say, who know nothing of the sink but its delivery. */
function judge({ pieces }: Plan, { delivery, screen }: Played): Judged {
  const { undelivered, doubtful, shown } = delivery
  const wanted = pieces.flatMap((piece) => (piece.type === 'files' ? piece.names : []))
  const seen = screen.flatMap(({ files }) => files)
  const reported = new Set(undelivered.flatMap(({ files = [] }) => files))
  const readable = wanted.filter((name) => !name.startsWith('gone'))
  const lost = readable.filter((name) => !seen.includes(name) && !reported.has(`prt_${name}`))
  const gone = wanted.filter((name) => name.startsWith('gone'))
  const silent = gone.filter((name) => !reported.has(`prt_${name}`))
  // Of a file that is not named, one must be able to tell that it may not be.
  const doubted = new Set(undelivered.flatMap(({ type, files = [] }) => (type === 'ambiguous' ? files : [])))
  const isNamed = (name: string): boolean => screen.some(({ text }) => text.replaceAll('\\', '').includes(name))
  const unnamed = gone.filter((name) => !isNamed(name) && !doubted.has(`prt_${name}`))
  const copies = seen.length - new Set(seen).size
  const isCalm = doubtful === 0 && undelivered.every(({ files: [name = ''] = [] }) => name.startsWith('prt_gone'))
  const order = readable.filter((name) => seen.includes(name))
  const problems = [
    ...(lost.length > 0 ? [`lost: ${lost.join(' ')}`] : []),
    ...(silent.length > 0 ? [`not reported: ${silent.join(' ')}`] : []),
    ...(unnamed.length > 0 ? [`not named: ${unnamed.join(' ')}`] : []),
    ...(seen.some((name) => name.startsWith('gone')) ? ['a file that is gone was posted'] : []),
    ...(copies > 0 && doubtful === 0 ? [`${copies} copies, and none is counted`] : []),
    ...(screen.length - shown > doubtful ? [`${screen.length} messages, ${shown} shown, ${doubtful} doubtful`] : []),
    ...(isCalm && seen.join() !== order.join() ? [`out of order: ${seen.join(' ')}`] : []),
  ]
  return { problems, files: readable.length, copies }
}

/** A failure names its seed: `playFileFaults({ first: seed, count: 1 })` in a test of its own repeats it. */
export function playFileFaults({ first, count }: { readonly first: number; readonly count: number }): void {
  test(`${count} answers with files lose none silently, and count each copy`, { timeout: 3_600_000 }, async () => {
    const failures: string[] = []
    let files = 0
    for (let seed = first; seed < first + count; seed++) {
      const plan = planBySeed(seed)
      try {
        const judged = judge(plan, await play(plan))
        files += judged.files
        if (judged.problems.length > 0) failures.push(`seed ${seed} (${plan.kind}): ${judged.problems.join('; ')}`)
      } catch (error) {
        failures.push(`seed ${seed} (${plan.kind}): ${String(error)}`)
      }
    }
    expect(failures).toEqual([])
    expect(files).toBeGreaterThan(count)
  })
}
