import { scenario } from '../scenario.ts'
import { failure, hold, type Piece, scenarioToken, text, tool } from '../script.ts'
import { asking, colour, task } from './pieces.ts'

const bash = (command: string): Piece => tool('bash', { command, description: `Run ${command}` })
const nesting = { agent: { general: { permission: { task: 'allow' } } }, subagentDepth: 2 } as const

/** Turns with sub-agents. */
export const children = [
  scenario('subagent', 'The agent gives a task to a sub-agent, which runs a tool and answers.', {
    steps: [
      [text('I delegate this.'), task('Explore the code', 'subagent/child')],
      [text('The sub-agent found nothing bad.')],
    ],
    more: { child: [[text('I look.'), bash('ls')], [text('Nothing bad here, says the child.')]] },
  }),
  scenario('subagent-parallel', 'Two sub-agents at once; the one that began first ends last.', {
    steps: [
      [task('Look left', 'subagent-parallel/left'), task('Look right', 'subagent-parallel/right')],
      [text('Both sides were looked at.')],
    ],
    more: {
      left: [[text('Left is'), hold('left'), text(' clear.')]],
      right: [[text('Right is'), hold('right'), text(' clear.')]],
    },
  }),
  scenario('subagent-permission', 'A sub-agent asks for permission; the request carries the session of the child.', {
    config: asking,
    steps: [[task('Run something', 'subagent-permission/child')], [text('The sub-agent was allowed.')]],
    more: { child: [[text('I ask.'), bash('echo child')], [text('I was allowed.')]] },
  }),
  scenario('subagent-question', 'A sub-agent asks a question.', {
    config: { agent: { general: { permission: { question: 'allow' } } } },
    steps: [[task('Ask something', 'subagent-question/child')], [text('The sub-agent knows now.')]],
    more: { child: [[tool('question', { questions: [colour] })], [text('It is red.')]] },
  }),
  scenario('subagent-nested', 'A sub-agent in a sub-agent.', {
    config: nesting,
    steps: [[task('Go deep', 'subagent-nested/child')], [text('The deep is explored.')]],
    more: {
      child: [[text('One deep.'), task('Go deeper', 'subagent-nested/grandchild')], [text('Deeper was fine.')]],
      grandchild: [[text('Two deep.'), bash('echo deep')], [text('Nothing lives here.')]],
    },
  }),
  scenario('subagent-nested-permission', 'A sub-agent in a sub-agent asks for permission.', {
    config: { ...nesting, ...asking },
    steps: [[task('Go deep', 'subagent-nested-permission/child')], [text('The deep is explored.')]],
    more: {
      child: [[task('Go deeper', 'subagent-nested-permission/grandchild')], [text('Deeper was fine.')]],
      grandchild: [[bash('echo deep')], [text('Nothing lives here.')]],
    },
  }),
  scenario('subagent-failing', "The sub-agent's model refuses; the agent is told.", {
    steps: [[task('Fail', 'subagent-failing/child')], [text('The sub-agent failed.')]],
    more: { child: [[failure(401, 'The key is wrong')]] },
  }),
  scenario('subagent-resumed', 'The agent sends a second task to the same sub-agent.', {
    steps: [
      [task('Begin', 'subagent-resumed/begin')],
      [task('Go on', 'subagent-resumed/more', { session_id: '{session}', task_id: '{session}' })],
      [text('Twice asked, twice answered.')],
    ],
    more: { begin: [[text('The first half.')]], more: [[text('The second half.')]] },
  }),
  scenario('subagent-background', 'A sub-agent works in the background and ends after the turn did.', {
    env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: 'true' },
    steps: [
      [task('Work on your own', 'subagent-background/child', { background: true })],
      [text('It works in the background now.')],
    ],
    more: {
      child: [
        [
          text('Working in the background'),
          hold('background'),
          text(` and done now. ${scenarioToken('subagent-background/after')}`),
        ],
      ],
      after: [[text('The background work is done, I hear.')]],
    },
  }),
  scenario('command-subtask', 'A slash command that runs as a sub-agent.', {
    config: {
      command: {
        survey: {
          template: `Survey $ARGUMENTS. ${scenarioToken('command-subtask/child')}`,
          description: 'Survey',
          agent: 'general',
          subtask: true,
        },
      },
    },
    steps: [[text('The survey is complete.')]],
    more: { child: [[text('Surveyed: all is well.')]] },
  }),
  scenario('abort-child', 'A person aborts the root while a sub-agent streams text.', {
    steps: [[task('Talk for ever', 'abort-child/child')], [text('It was interrupted.')]],
    more: { child: [[text('This goes on and on and'), hold('middle'), text(' never ends.')]] },
  }),
  scenario('abort-child-permission', 'A person aborts the root while the permission of a sub-agent is pending.', {
    config: asking,
    steps: [[task('Run something', 'abort-child-permission/child')], [text('The sub-agent did not get far.')]],
    more: { child: [[text('I ask.'), bash('echo child')], [text('I was allowed.')]] },
  }),
]
