import { scenario } from '../scenario.ts'
import { cut, failure, hold, reasoning, text, tool } from '../script.ts'

const limited = (seconds: string) => failure(429, 'Rate limit reached', { 'retry-after': seconds })

/** Turns in which the model fails. */
export const failures = [
  scenario('retry-429', 'The model refuses with 429 once, the server waits, retries and succeeds.', {
    steps: [{ attempts: [[limited('1')], [text('After a short wait: done.')]] }],
  }),
  scenario('retry-twice', 'The model refuses twice, with 429 and with 503, before it answers.', {
    steps: [
      {
        attempts: [
          [limited('1')],
          [failure(503, 'Overloaded', { 'retry-after': '1' })],
          [text('The third time it worked.')],
        ],
      },
    ],
  }),
  scenario('retry-later-step', 'The first step succeeds, the second one is retried.', {
    steps: [
      [text('I look.'), tool('bash', { command: 'echo looked', description: 'Look' })],
      { attempts: [[limited('1')], [text('Looked, and waited.')]] },
    ],
  }),
  scenario('retry-cut', "The model's connection breaks in mid-text, the server retries and gets the whole text.", {
    steps: [
      {
        attempts: [
          [text('This sentence was cut off in the'), cut],
          [text('This sentence was said again, and this time to its end.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-closed', 'The same on a separate connection, so that OpenCode and not its runtime retries.', {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [text('This sentence was cut off in the'), cut],
          [text('This sentence was said again, and this time to its end.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-reasoning', "The model's connection breaks while it reasons.", {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [reasoning('A thought that was cut off in the'), cut],
          [reasoning('A thought, thought to its end.'), text('And so it is.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-tool', "The model's connection breaks after a tool call was complete.", {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [text('I look.'), tool('bash', { command: 'echo first', description: 'Look' }), cut],
          [text('I look again.'), tool('bash', { command: 'echo second', description: 'Look again' })],
        ],
      },
      // Both calls are in the history, as one round or as two.
      [text('Looked.')],
      [text('Looked.')],
    ],
  }),
  scenario('retry-aborted', 'A person aborts while the server waits to retry.', {
    steps: [[limited('60')]],
  }),
  scenario('unauthorized', 'The provider refuses the key: 401.', { steps: [[failure(401, 'The key is wrong')]] }),
  scenario('bad-request', 'The provider refuses the request: 400, in the second step.', {
    steps: [
      [text('I look.'), tool('bash', { command: 'echo looked', description: 'Look' })],
      [failure(400, 'The request makes no sense')],
    ],
  }),
  scenario('unknown-model', 'The prompt names a model that the provider does not have.', { steps: [] }),
  scenario('killed', 'The server is killed in mid-text and started again.', {
    steps: [[text('This answer is lost with its server, because'), hold('middle'), text(' nobody is left to say it.')]],
  }),
  scenario('killed-tool', 'The server is killed while a tool runs and started again.', {
    steps: [
      [text('I wait.'), tool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [text('Waited.')],
    ],
  }),
  scenario('killed-then-prompt', 'The server is killed in mid-text and started again, and the session goes on.', {
    steps: [[text('This answer is lost with its server, because'), hold('middle'), text(' nobody is left to say it.')]],
    more: { second: [[text('Here we are again.')]] },
  }),
  scenario('disposed', 'The instance is disposed in mid-text.', {
    steps: [[text('This answer is broken off, because'), hold('middle'), text(' its instance is gone.')]],
  }),
]
