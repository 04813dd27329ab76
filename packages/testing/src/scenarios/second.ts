import { scenario } from '../scenario.ts'
import { hold, type Piece, scenarioToken, text, tool } from '../script.ts'
import { asking, colour, task } from './pieces.ts'

const waiting: Piece = tool('bash', { command: 'echo started; touch started; sleep 2', description: 'Wait' })
const lost = [
  text('This answer is interrupted by a restart, because'),
  hold('middle'),
  text(' nothing lasts for ever.'),
]

/** What only OpenCode 2 can do: queued and parked prompts, runs that begin by themselves, staged reverts, a stop. */
export const secondScenarios = [
  scenario('queue', 'A queued prompt waits until the text is complete.', {
    steps: [[text('The first answer'), hold('middle'), text(' is complete.')]],
    more: { second: [[text('The queued prompt has its turn.')]] },
  }),
  scenario('queue-tool', 'A queued prompt waits until the run with its tool would end.', {
    steps: [[text('I wait a little.'), waiting], [text('Waited, and now I am done.')]],
    more: { second: [[text('The queued prompt has its turn.')]] },
  }),
  scenario('queue-twice', 'Two queued prompts have their turns one after the other.', {
    steps: [[text('The first answer'), hold('middle'), text(' is complete.')]],
    more: {
      second: [[text('The first queued prompt has its turn.')]],
      third: [[text('The second queued prompt has its turn.')]],
    },
  }),
  scenario('queue-and-steer', 'A queued prompt waits while a later one steers the run.', {
    steps: [[text('I wait a little.'), waiting], [text('Waited for the first.')]],
    more: {
      second: [[text('The queued prompt has its turn.')]],
      third: [[text('The steering prompt took over.')]],
    },
  }),
  scenario('queue-failed', 'A prompt is queued behind a run that fails.', {
    steps: [
      [text('I wait a little.'), waiting],
      [{ type: 'error', status: 400, message: 'The request makes no sense' }],
    ],
    more: { second: [[text('The queued prompt has its turn.')]] },
  }),
  scenario('parked', 'A queued prompt stays behind an abort and runs together with the next prompt.', {
    steps: [[text('This answer will never come to its end, because'), hold('middle'), text(' it is aborted.')]],
    more: { second: [[text('The parked prompt alone.')]], third: [[text('The parked prompt and the next one.')]] },
  }),
  scenario('parked-by-rejection', 'A queued prompt stays behind a rejection.', {
    config: asking,
    steps: [[text('I will run it.'), tool('bash', { command: 'echo forbidden', description: 'Run' })], [text('No.')]],
    more: { second: [[text('The parked prompt has its turn.')]] },
  }),
  scenario('steer-permission', 'A prompt arrives while a permission is pending.', {
    config: asking,
    steps: [[text('May I?'), tool('bash', { command: 'echo allowed', description: 'Ask' })], [text('I did.')]],
    more: { second: [[text('I did, and heard you.')]] },
  }),
  scenario('permission-always-again', 'Permission is granted for always: the same command does not ask again.', {
    config: asking,
    steps: [
      [tool('bash', { command: 'echo again', description: 'Run' })],
      [tool('bash', { command: 'echo again', description: 'Run' })],
      [text('Both ran.')],
    ],
  }),
  scenario('prompt-repeated', 'A prompt is sent again under its id after its run is over; the server runs nothing.', {
    steps: [[text('Said once.')]],
  }),
  scenario('shell-background', 'The agent starts a command in the background and ends before it.', {
    steps: [
      [
        tool('bash', {
          command: 'touch started; until [ -e go ]; do sleep 0.1; done; echo late',
          description: 'Wait',
          background: true,
        }),
      ],
      [text('It runs in the background.')],
      [text('It is done, I hear.')],
    ],
  }),
  scenario('question-unanswered', 'A person sends the form without an answer.', {
    steps: [[text('One thing first.'), tool('question', { questions: [colour] })], [text('Then I choose.')]],
  }),
  scenario('subagent-rejected', 'A person rejects what a sub-agent asks; the agent goes on without it.', {
    config: asking,
    steps: [[task('Run something', 'subagent-rejected/child')], [text('The sub-agent was not allowed.')]],
    more: { child: [[text('I ask.'), tool('bash', { command: 'echo child', description: 'Run' })], [text('Ran.')]] },
  }),
  scenario('subagent-moved', 'A person moves a running sub-agent to the background.', {
    steps: [[task('Work for long', 'subagent-moved/child')], [text('It works in the background now.')]],
    more: {
      child: [[text('Working'), hold('background'), text(` and done. ${scenarioToken('subagent-moved/after')}`)]],
      after: [[text('The moved work is done, I hear.')]],
    },
  }),
  scenario('subagent-background-two', 'Two sub-agents in the background end after the turn, one after the other.', {
    steps: [
      [
        task('Work left', 'subagent-background-two/left', { background: true }),
        task('Work right', 'subagent-background-two/right', { background: true }),
      ],
      [text('Both work in the background now.')],
    ],
    more: {
      left: [[text('Left'), hold('left'), text(` done. ${scenarioToken('subagent-background-two/afterLeft')}`)]],
      right: [[text('Right'), hold('right'), text(` done. ${scenarioToken('subagent-background-two/afterRight')}`)]],
      afterLeft: [[text('Left is done, I hear.')]],
      afterRight: [[text('Right is done, I hear.')]],
    },
  }),
  scenario('revert-staged', 'The last turn is reverted, and nothing follows.', {
    steps: [[text('The first answer.')]],
    more: { second: [[text('The second answer, to be reverted.')]] },
  }),
  scenario('revert-committed', 'The last turn is reverted and removed.', {
    steps: [[text('The first answer.')]],
    more: { second: [[text('The second answer, to be removed.')]] },
  }),
  scenario('stopped', 'The server is asked to stop in mid-text and started again.', { steps: [lost] }),
  scenario('stopped-tool', 'The server is asked to stop while a tool runs, and started again.', {
    steps: [
      [text('I wait.'), tool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [text('Waited.')],
    ],
  }),
  scenario('stopped-then-prompt', 'The server is asked to stop in mid-text, and the session goes on after its start.', {
    steps: [lost],
    more: { second: [[text('Here we are again.')]] },
  }),
]
