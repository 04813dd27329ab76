// A tool of this program for the agent, and a typed result: which of these cities is the warmest?
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/tools.ts Bern Oslo
import { connect, ReplyError } from '@reply/core'
import { createAgent } from '@reply/core/thoughts'
import { openCodeHost } from '@reply/tools'
import { z } from 'zod'

const cities = process.argv.length > 2 ? process.argv.slice(2) : ['Bern', 'Oslo']
const client = connect()
const agent = createAgent(client, { host: openCodeHost() })

const turn = agent.stream(`Which is the warmest now: ${cities.join(', ')}? Look up each.`, {
  tools: {
    temperature: {
      description: 'The temperature in a city now, in degrees Celsius.',
      schema: z.object({ city: z.string() }),
      handler: ({ city }) => ({ city, degrees: city.length * 3 }),
    },
  },
  output: z.object({ city: z.string(), degrees: z.number() }),
  // Nothing is answered by itself: an ask that stays open would block the turn.
  observe: () => [{ permissionAsked: ({ ask }) => client.reject(ask), questionAsked: ({ ask }) => client.reject(ask) }],
  include: ['tool_start', 'tool_done', 'message'],
})

try {
  for await (const thought of turn) {
    if (thought.type === 'tool_start') console.log(`${thought.kind}: ${thought.title}`)
    if (thought.type === 'message') process.stdout.write(thought.text)
  }
  const { city, degrees } = await turn.result
  console.log(`\nThe warmest is ${city}, at ${degrees} °C.`)
} catch (error) {
  if (!(error instanceof ReplyError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  await client.close()
}
