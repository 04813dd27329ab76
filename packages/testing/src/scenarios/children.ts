import { scenario } from '../scenario.ts'
import { scenarioToken, text, tool } from '../script.ts'

const task = (description: string, script: string, more: object = {}) =>
  tool('task', { description, prompt: `Do your part. ${scenarioToken(script)}`, subagent_type: 'general', ...more })

export const children = [
  scenario('subagent', 'The agent gives a task to a sub-agent, which runs a tool and answers.', {
    steps: [[text('I delegate this.'), task('Explore the code', 'subagent/child')], [text('The sub-agent found nothing bad.')]],
    more: {
      child: [
        [text('I look.'), tool('bash', { command: 'ls', description: 'List the files' })],
        [text('Nothing bad here, says the child.')],
      ],
    },
  }),
]
