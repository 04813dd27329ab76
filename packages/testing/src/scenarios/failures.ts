import { scenario } from '../scenario.ts'
import { callTool, cutConnection, holdAnswer, httpError, sayText, think } from '../script.ts'

/** A refusal for too many requests, which asks the server to wait. */
const limited = (seconds: string) => httpError(429, 'Rate limit reached', { 'retry-after': seconds })

/** Turns in which the model fails. */
export const failures = [
  scenario('retry-429', 'The model refuses with 429 once, the server waits, retries and succeeds.', {
    steps: [{ attempts: [[limited('1')], [sayText('After a short wait: done.')]] }],
  }),
  scenario('retry-twice', 'The model refuses twice, with 429 and with 503, before it answers.', {
    steps: [
      {
        attempts: [
          [limited('1')],
          [httpError(503, 'Overloaded', { 'retry-after': '1' })],
          [sayText('The third time it worked.')],
        ],
      },
    ],
  }),
  scenario('retry-later-step', 'The first step succeeds, the second one is retried.', {
    steps: [
      [sayText('I look.'), callTool('bash', { command: 'echo looked', description: 'Look' })],
      { attempts: [[limited('1')], [sayText('Looked, and waited.')]] },
    ],
  }),
  scenario('retry-cut', "The model's connection breaks in mid-text, the server retries and gets the whole text.", {
    steps: [
      {
        attempts: [
          [sayText('This sentence was cut off in the'), cutConnection],
          [sayText('This sentence was said again, and this time to its end.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-closed', 'The same on a separate connection, so that OpenCode and not its runtime retries.', {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [sayText('This sentence was cut off in the'), cutConnection],
          [sayText('This sentence was said again, and this time to its end.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-reasoning', "The model's connection breaks while it reasons.", {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [think('A thought that was cut off in the'), cutConnection],
          [think('A thought, thought to its end.'), sayText('And so it is.')],
        ],
      },
    ],
  }),
  scenario('retry-cut-tool', "The model's connection breaks after a tool call was complete.", {
    keepAlive: false,
    steps: [
      {
        attempts: [
          [sayText('I look.'), callTool('bash', { command: 'echo first', description: 'Look' }), cutConnection],
          [sayText('I look again.'), callTool('bash', { command: 'echo second', description: 'Look again' })],
        ],
      },
      // Both calls are in the history, as one round or as two.
      [sayText('Looked.')],
      [sayText('Looked.')],
    ],
  }),
  scenario('retry-aborted', 'A person aborts while the server waits to retry.', {
    steps: [[limited('60')]],
  }),
  scenario('unauthorized', 'The provider refuses the key: 401.', { steps: [[httpError(401, 'The key is wrong')]] }),
  scenario('bad-request', 'The provider refuses the request: 400, in the second step.', {
    steps: [
      [sayText('I look.'), callTool('bash', { command: 'echo looked', description: 'Look' })],
      [httpError(400, 'The request makes no sense')],
    ],
  }),
  scenario('unknown-model', 'The prompt names a model that the provider does not have.', { steps: [] }),
  scenario('killed', 'The server is killed in mid-text and started again.', {
    steps: [
      [
        sayText('This answer is lost with its server, because'),
        holdAnswer('middle'),
        sayText(' nobody is left to say it.'),
      ],
    ],
  }),
  scenario('killed-tool', 'The server is killed while a tool runs and started again.', {
    steps: [
      [sayText('I wait.'), callTool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [sayText('Waited.')],
    ],
  }),
  scenario('killed-then-prompt', 'The server is killed in mid-text and started again, and the session goes on.', {
    steps: [
      [
        sayText('This answer is lost with its server, because'),
        holdAnswer('middle'),
        sayText(' nobody is left to say it.'),
      ],
    ],
    more: { second: [[sayText('Here we are again.')]] },
  }),
  scenario('disposed', 'The instance is disposed in mid-text.', {
    steps: [[sayText('This answer is broken off, because'), holdAnswer('middle'), sayText(' its instance is gone.')]],
  }),
]
