// An agent that speaks the Agent Client Protocol. It is started in the current folder and ends with this program.
//   npx tsx examples/acp.ts "What does this project do?" opencode acp
import { acp } from '@reply/agents/acp'
import { answerOf, ReplyError } from '@reply/core'

const [text = 'What does this project do?', command = 'opencode', ...args] = process.argv.slice(2)
const agent = acp({ command, args: args.length > 0 || command !== 'opencode' ? args : ['acp'] })

try {
  const stream = agent.prompt({ text })
  for await (const change of stream) {
    if (change.type === 'toolProgressed' && change.changed === 'status')
      console.log(`${change.part.tool}: ${change.status}`)
    // This program allows nothing and answers nothing. An ask that stays open would block the reply.
    if (change.type === 'permissionAsked' || change.type === 'questionAsked') await agent.reject(change.ask)
  }
  const reply = await stream.result
  console.log(`\n${reply.outcome}: ${answerOf(reply) || (reply.error?.message ?? 'no text')}`)
  process.exitCode = reply.outcome === 'completed' ? 0 : 1
} catch (error) {
  if (!(error instanceof ReplyError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  await agent.close()
}
