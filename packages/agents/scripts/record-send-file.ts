// Records agents that send files with `reply-tools`: `npx tsx packages/agents/scripts/record-send-file.ts [recordings]`, for
// example with `codex/0.169.0`. Without arguments it records all of them.
import { mkdir, writeFile } from 'node:fs/promises'
import { sendingAgents } from '../test/send-file/agents.ts'

const wanted = process.argv.slice(2)

/** Returns a line as its kind of recording has it. Qwen Code also sends the texts of its skills. */
function storedLine(line: string): string {
  const { from, line: message } = JSON.parse(line)
  const isList = message.params?.update?.sessionUpdate === 'available_commands_update'
  if (isList) message.params.update = { sessionUpdate: 'available_commands_update', availableCommands: [] }
  return JSON.stringify({ from: from === 'us' ? 'client' : 'agent', message })
}

for (const { recording, play } of sendingAgents) {
  if (wanted.length > 0 && !wanted.includes(recording)) continue
  const { lines, reply } = await play()
  const isAcp = recording.startsWith('acp/')
  // A second process of Claude Code lists commands into the same file, and Codex begins with facts about this computer.
  const begin = Math.max(0, isAcp ? 0 : lines.findIndex((line) => line.includes('"turn/start"')))
  const kept = lines
    .slice(begin)
    .filter(
      (line) =>
        isAcp || !/"subtype":"initialize"|"method":"(?:configWarning|remoteControl\/status\/changed)"/.test(line),
    )
  const target = new URL(`../recordings/${recording}/send-file.jsonl`, import.meta.url)
  await mkdir(new URL('.', target), { recursive: true })
  await writeFile(target, `${kept.map((line) => (isAcp ? storedLine(line) : line)).join('\n')}\n`)
  process.stdout.write(`${recording}: ${kept.length} lines, ${reply.outcome}\n`)
}
