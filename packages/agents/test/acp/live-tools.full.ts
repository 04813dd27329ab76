import type { Thought } from '@reply/core/thoughts'
import { callTool, sayText, startModel } from '@reply/testing'
import { prepareOpencode } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { acp } from '../../src/acp.ts'

test('a live OpenCode calls a tool of this program over ACP, and returns a value', async () => {
  const model = await startModel({
    scripts: {
      weather: {
        steps: [
          [callTool('reply_weather', { city: 'Bern' })],
          [callTool('reply_return_result', { degrees: 21 })],
          [sayText('Done.')],
        ],
      },
    },
  })
  const opencode = await prepareOpencode({ model })
  const { command, env, directory } = opencode
  const client = acp({ command, env, cwd: directory, args: ['acp'] })
  const cities: string[] = []
  const turn = client.stream('How warm? [scenario:weather]', {
    tools: {
      weather: {
        description: 'The weather in a city.',
        schema: z.object({ city: z.string() }),
        handler: ({ city }) => {
          cities.push(city)
          return { degrees: 21 }
        },
      },
    },
    output: z.object({ degrees: z.number() }),
  })
  const thoughts: Thought[] = []
  for await (const thought of turn) thoughts.push(thought)
  expect([cities, await turn.result]).toEqual([['Bern'], { degrees: 21 }])
  const done = thoughts.filter(({ type }) => type === 'tool_done')
  expect(done).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
  expect(thoughts.at(-1)).toEqual({ type: 'message', text: 'Done.' })
  await client.close()
  await model.close()
  await opencode.remove()
})
