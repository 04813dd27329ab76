// The core in a bot: send a prompt, watch it run, use the settled reply.
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/core.ts "What does this project do?"
import { type Ask, answerOf, askDetails, askTitle, connect, currentActivity, ReplyError } from '@reply/core'

const text = process.argv[2] ?? 'What does this project do?'
const client = connect()

try {
  await client.ready
  const stream = client.prompt({ text })

  // Reading along is optional: the reply goes on without it.
  for await (const change of stream) {
    if (change.type === 'toolProgressed' && change.changed === 'status') {
      console.log(`${change.part.tool}: ${change.status}`)
    }
    // This program allows nothing and answers nothing. An ask that stays open would block the reply.
    if (change.type === 'questionAsked' || change.type === 'permissionAsked') {
      console.log(`refused: ${describe(change.ask)}`)
      await client.reject(change.ask).catch(unlessResolved)
    }
    if (change.type === 'phaseChanged' && stream.reply)
      console.log(`… ${currentActivity(stream.reply) ?? change.phase}`)
  }

  // A failure is an outcome, not an exception.
  const reply = await stream.result
  console.log(`\n${reply.outcome}: ${answerOf(reply) || (reply.error?.message ?? 'no text')}`)
} catch (error) {
  if (!(error instanceof ReplyError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  await client.close()
}

/**
 * Describes an ask: its questions, or a permission's title and details. Often the input of a permission's tool is not
 * known yet when it is asked: see `askChanged`.
 */
function describe(ask: Ask): string {
  if (ask.type === 'question') return ask.questions.map(({ question }) => question).join(' · ')
  const details = askDetails(ask) ?? []
  return [askTitle(ask), ...details.map(({ label, text }) => (label === '' ? text : `${label}: ${text}`))].join('\n  ')
}

/**
 * Throws any error but that of an ask that is settled, because a refusal settles the session's other permissions too.
 */
function unlessResolved(error: unknown): void {
  if (!(error instanceof ReplyError) || error.type !== 'already-resolved') throw error
}
