// A recording through the same observers as a live stream. Make one with: npx reply record session.sse
//   npx tsx examples/replay.ts session.sse
import { createReadStream } from 'node:fs'
import { replay, textOf, toolsOf, totalUsage } from '@reply/core'

const file = process.argv[2]
if (file === undefined) throw new Error('Name a recording: npx tsx examples/replay.ts session.sse')

const replies = await replay(createReadStream(file), {
  observe: () => [{ toolProgressed: ({ part, status }) => console.log(`${part.tool} ${status}`) }],
  onError: (error) => console.error(error.message),
})

for (const reply of replies) {
  const { input, output } = totalUsage(reply)
  console.log(`${reply.outcome}, ${toolsOf(reply).length} tool calls, ${input} + ${output} tokens`)
  console.log(textOf(reply))
}
