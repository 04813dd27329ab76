// A recording through the same observers as a live stream. Make one with: npx reply record session.sse
//   npx tsx examples/replay.ts session.sse
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { replay, textOf, toolsOf, totalUsage } from '@reply/core'

const file = process.argv[2]
if (file === undefined) {
  console.error('Usage: npx tsx examples/replay.ts RECORDING   (session.sse or session.sse.gz)')
  process.exit(2)
}

const bytes = createReadStream(file)
const recording = file.endsWith('.gz') ? bytes.compose<Readable>(createGunzip()) : bytes

const replies = await replay(recording, {
  observe: () => [{ toolProgressed: ({ part, status }) => console.log(`${part.tool} ${status}`) }],
  onError: (error) => console.error(error.message),
})

for (const reply of replies) {
  const { input, output } = totalUsage(reply)
  console.log(`${reply.outcome}, ${toolsOf(reply).length} tool calls, ${input} + ${output} tokens`)
  console.log(textOf(reply))
}
