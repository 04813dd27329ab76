import { emptyReply, type Part, type Reply } from '@reply/core'
import type { Timeline } from './timeline.ts'

/** A reply that is hard to show on a platform, and the faults injected into it. */
export interface HardReply {
  readonly name: string
  readonly timeline: Timeline
  /** Rate-limits the first call after the reply's end. */
  readonly refuseLast?: boolean
  /** Takes minutes, mostly idle. */
  readonly isLong?: boolean
}

/** A fast model's pace: pieces per second, and UTF-16 units per piece. */
const fastPace = { perSecond: 25, pieceUnits: 24 }

/** The pace of a model that thinks in between. */
const slowPace = { perSecond: 1, pieceUnits: 10 }

const toolMs = 600_000

/**
 * Returns replies that are hard to show in a chat, for the comparison with another library. Each has a text of its own.
 */
export function hardReplies(): readonly HardReply[] {
  const [first, second] = halves(textOfLength(1200))
  return [
    { name: 'a reply of 8,600 letters', timeline: timelineOfText(textOfLength(8600), fastPace) },
    { name: 'one of 17,000', timeline: timelineOfText(textOfLength(17_000), fastPace) },
    { name: 'a ten-minute tool call in mid-sentence', timeline: timelineOfText(first, fastPace, second), isLong: true },
    { name: 'a 429 on the last edit', timeline: timelineOfText(textOfLength(2000), fastPace), refuseLast: true },
    { name: 'six minutes of writing', timeline: timelineOfText(textOfLength(3600), slowPace), isLong: true },
  ]
}

/** Returns Markdown of at least that many UTF-16 units, in which no stretch of 40 letters repeats. */
function textOfLength(units: number): string {
  const blocks: string[] = []
  for (let length = 0, index = 1; length < units; index++) {
    const code = index % 9 === 0 ? `\n\n\`\`\`ts\nexport const value${index} = ${index * 7}\n\`\`\`` : ''
    const block = `Part ${index} says **number ${index * 31}** of its own, and \`code ${index}\` with it. It ends with ${index * 17}.${code}`
    blocks.push(block)
    length += block.length + 2
  }
  return blocks.join('\n\n')
}

/** Splits a text within a sentence. */
function halves(text: string): readonly [string, string] {
  const at = text.indexOf(' with it.', text.length / 2)
  return [text.slice(0, at), text.slice(at)]
}

interface WritingPace {
  readonly perSecond: number
  readonly pieceUnits: number
}

/**
 * Returns the timeline of a text that grows at a pace, and then settles. `textAfterTool` follows a tool
 * that runs for ten minutes.
 */
function timelineOfText(text: string, { perSecond, pieceUnits }: WritingPace, textAfterTool = ''): Timeline {
  const states: { atMs: number; reply: Reply }[] = []
  let atMs = 0
  const tool: Part = {
    ...placeOfPart('prt_2'),
    type: 'tool',
    status: 'open',
    tool: 'bash',
    callID: 'call_1',
    state: { status: 'running', input: {}, title: 'npm test' },
  }
  /** Adds a state for each piece of a part that grows behind those before. */
  const grow = (text: string, before: readonly Part[], id: string): void => {
    for (let to = pieceUnits; to < text.length + pieceUnits; to += pieceUnits) {
      atMs += 1000 / perSecond
      states.push({ atMs, reply: workingReply([...before, textPart(id, text.slice(0, to), 'open')]) })
    }
  }
  grow(text, [], 'prt_1')
  if (textAfterTool !== '') {
    states.push({ atMs, reply: workingReply([textPart('prt_1', text, 'sealed'), tool]) })
    atMs += toolMs
    grow(textAfterTool, [textPart('prt_1', text, 'sealed'), { ...tool, status: 'sealed' }], 'prt_3')
  }
  const last = states.at(-1)?.reply ?? emptyReply('ses_1')
  const messages = last.messages.map((message) => ({ ...message, parts: message.parts.map(sealPart) }))
  const end = { phase: 'settled', outcome: 'completed', finish: 'stop' } as const
  states.push({ atMs: atMs + 200, reply: { ...last, messages, ...end } })
  return { name: 'made', states, texts: states.map(({ atMs: at, reply }) => ({ atMs: at, text: textOf(reply) })) }
}

/** A reply under way, whose one message has these parts. */
function workingReply(parts: readonly Part[]): Reply {
  const messages = [{ id: 'msg_2', parts, raw: undefined }]
  return { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages }
}

function sealPart(part: Part): Part {
  return { ...part, status: 'sealed' }
}

function textPart(id: string, text: string, status: 'open' | 'sealed'): Part {
  return { ...placeOfPart(id), type: 'text', status, text }
}

/** The fields that place a part in the reply's one message. */
function placeOfPart(id: string): { id: string; messageID: string; raw: undefined } {
  return { id, messageID: 'msg_2', raw: undefined }
}

/** The texts of a reply, with an empty line between them. */
function textOf({ messages }: Reply): string {
  return messages
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
    .join('\n\n')
}
