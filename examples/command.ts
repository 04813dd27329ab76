// A command as a reply: its output as it comes, and how it ended.
//   npx tsx examples/command.ts npm test
import { run } from '@reply/agents/command'

const [command = 'npm', ...args] = process.argv.slice(2)
const { stdout, code, reply } = await run({
  command,
  args,
  timeoutMs: 60_000, // without output
  onChunk: (stream, text) => process[stream].write(text),
})
console.log(`${reply.outcome}${reply.error ? `: ${reply.error.message}` : ''} (${stdout.length} characters)`)
process.exitCode = code ?? 1
