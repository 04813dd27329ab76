// Reads every recorded reply through the AI SDK 7 and prints what is wrong, as JSON. Run with --conditions=@reply/source, on Node 24.
import { observerOf, replay, textOf } from '@reply/core'
import { listRecordings, readRecording } from '@reply/testing'
import { createUIProjection } from '@reply/ui'
import { uiTextOf } from '@reply/ui/client'
import { readUIMessageStream, uiMessageChunkSchema } from 'ai'

const schema = uiMessageChunkSchema()
const counts = { replies: 0, chunks: 0, resets: 0 }
const problems = []

for (const { version, scenario, hasGlobal } of [...listRecordings(), ...listRecordings({ generation: 2 })])
  for (const global of hasGlobal ? [false, true] : [false])
    for (const states of await statesOf({ version, scenario, global })) {
      counts.replies += 1
      const live = states.slice(0, states.findIndex(({ phase }) => phase === 'settled') + 1)
      const text = textOf(live.at(-1))
      const name = `${version}/${scenario}`
      for (const [how, seen] of [
        ['live', live],
        ['late', live.slice(-1)],
        ['middle', live.slice(Math.floor(live.length / 2))],
      ]) {
        const chunks = chunksOf(seen, 7)
        counts.chunks += chunks.length
        counts.resets += chunks.filter(({ type }) => type === 'reset-step').length
        const message = await messageOf(chunks, `${name} ${how}`)
        if (uiTextOf(message) !== text) problems.push(`${name} ${how}: another text`)
        if (plainTextOf(message) !== text) problems.push(`${name} ${how}: another text without uiTextOf`)
        if (message.parts.some(({ type }) => type === 'data-retracted')) problems.push(`${name} ${how}: retracted`)
        const older = await messageOf(chunksOf(seen, 6), `${name} ${how}, written for 6`)
        if (uiTextOf(older) !== text) problems.push(`${name} ${how}: another text, written for 6`)
      }
    }

console.log(JSON.stringify({ ...counts, problems }))

/** Every state of each reply of a recording. */
async function statesOf(recorded) {
  const all = []
  await replay(readRecording(recorded).bytes, {
    observe: (reply) => {
      const states = [reply]
      all.push(states)
      return [observerOf(({ reply: newest }) => states.at(-1) !== newest && states.push(newest))]
    },
  })
  return all
}

function chunksOf(states, version) {
  const projection = createUIProjection({ version, stopAtAsks: false })
  return states.flatMap((reply) => projection.next(reply))
}

/** The message that the AI SDK makes of valid chunks. */
async function messageOf(chunks, name) {
  for (const chunk of chunks)
    if (!(await schema.validate(chunk)).success) problems.push(`${name}: invalid ${JSON.stringify(chunk)}`)
  let message = { id: '', role: 'assistant', parts: [] }
  const stream = ReadableStream.from(chunks.map((chunk) => structuredClone(chunk)))
  const onError = (error) => problems.push(`${name}: ${error}`)
  for await (const newest of readUIMessageStream({ stream, onError })) message = newest
  return message
}

/** The text of a message in a page that knows the AI SDK alone. */
function plainTextOf({ parts }) {
  return parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : [])).join('\n\n')
}
