import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ReplyObserver, textOf } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import type { ExistingSession, SourceStage } from '@reply/core/testing'
import { callTool, holdAnswer, httpError, type Scripts, sayText, think } from '@reply/testing'
import { type ClaudeOptions, claude } from '../../src/claude.ts'
import { claudeEnv, type ScriptedStage, startScripted } from '../scripted-stage.ts'

const bash = (name: string) =>
  callTool('Bash', { command: `touch ${name}.txt && echo ${name}`, description: 'Makes a file' })

const task = (subject: string) =>
  callTool('TaskCreate', { subject, description: `${subject} all of it`, activeForm: `${subject}ing` })
const change = (taskId: string, status: string) => callTool('TaskUpdate', { taskId, status })
const todo = (first: string, second: string) =>
  callTool('TodoWrite', {
    todos: [
      { content: 'Read', status: first, activeForm: 'Reading' },
      { content: 'Write', status: second, activeForm: 'Writing' },
    ],
  })

const edit = (path: string, before: string, after: string) =>
  callTool('Edit', { file_path: path, old_string: before, new_string: after })

export const claudeScripts: Scripts = {
  plain: { steps: [[think('Let me think.'), sayText('Hello there, nice to meet you.')]] },
  endless: { steps: [[sayText('I begin. '), holdAnswer('forever'), sayText('never')]] },
  permission: { steps: [[sayText('I run it.'), bash('made')], [sayText('It is made.')]] },
  always: {
    steps: [[callTool('Bash', { command: 'node -e 0', description: 'Does nothing' })], [sayText('It is made again.')]],
  },
  question: {
    steps: [
      [
        callTool('AskUserQuestion', {
          questions: [
            {
              question: 'Which color?',
              header: 'Color',
              multiSelect: false,
              options: [
                { label: 'Red', description: 'Warm' },
                { label: 'Blue', description: 'Cold' },
              ],
            },
          ],
        }),
      ],
      [sayText('Thanks.')],
    ],
  },
  delegate: {
    steps: [
      [
        callTool('Agent', {
          description: 'Look around',
          prompt: '[scenario:child] Go',
          subagent_type: 'general-purpose',
        }),
      ],
      [sayText('The agent is done.')],
    ],
  },
  /** The sub-agent of `delegate` works in the background from 2.1.318 on. */
  'delegate-waiting': {
    steps: [
      [
        callTool('Agent', {
          description: 'Look around',
          prompt: '[scenario:child] Go',
          subagent_type: 'general-purpose',
          run_in_background: false,
        }),
      ],
      [sayText('The agent is done.')],
    ],
  },
  child: { steps: [[sayText('The child works.'), bash('child')], [sayText('The child is done.')]] },
  // Claude Code edits only what it has read. Changes a line twice.
  edits: {
    steps: [
      [callTool('Read', { file_path: 'list.txt' }), callTool('Read', { file_path: 'book.ipynb' })],
      [edit('list.txt', 'two', '2')],
      [edit('list.txt', '2', 'zwei')],
      [callTool('Write', { file_path: 'src/new.txt', content: 'new\n' })],
      [callTool('Write', { file_path: 'list.txt', content: 'one\nzwei\nthree\nfour\n' })],
      [callTool('NotebookEdit', { notebook_path: 'book.ipynb', cell_id: 'c1', new_source: 'b' })],
      [sayText('They are changed.')],
    ],
  },
  tasks: {
    steps: [
      [task('Read'), task('Write'), task('Check')],
      [change('1', 'in_progress')],
      [change('1', 'completed'), change('2', 'in_progress'), change('3', 'deleted'), change('9', 'completed')],
      [callTool('TaskList', {})],
      [sayText('Planned.')],
    ],
  },
  'shared-tasks': {
    steps: [
      [
        task('Read'),
        callTool('Agent', { description: 'Plan', prompt: '[scenario:planner] Go', subagent_type: 'general-purpose' }),
      ],
      [sayText('It is planned.')],
    ],
  },
  planner: { steps: [[task('Write')], [change('1', 'completed')], [sayText('Planned.')]] },
  /** A sub-agent that works on in the background, and what Claude Code says once it has ended. */
  'background-agent': {
    steps: [
      [
        sayText('I delegate.'),
        callTool('Agent', {
          description: 'Look around',
          prompt: '[scenario:child] Go',
          subagent_type: 'general-purpose',
          run_in_background: true,
        }),
      ],
      {
        branches: [{ includes: 'The child is done.', pieces: [sayText('I know it now.')] }],
        otherwise: [sayText('It works.')],
      },
    ],
  },
  /** The same, but the sub-agent waits for the end of the turn, and another prompt is answered before it ends. */
  'background-asked': {
    steps: [
      [
        sayText('I delegate.'),
        callTool('Agent', {
          description: 'Look around',
          prompt: '[scenario:late-child] Go',
          subagent_type: 'general-purpose',
          run_in_background: true,
        }),
      ],
      [sayText('It works.')],
    ],
  },
  'late-child': {
    steps: [[holdAnswer('parent'), sayText('The child works.'), bash('child')], [sayText('The child is done.')]],
  },
  'meanwhile-asked': {
    steps: [
      {
        branches: [{ includes: 'The child is done.', pieces: [sayText('I know it now.')] }],
        otherwise: [sayText('The second answer.')],
      },
    ],
  },
  'background-command': {
    steps: [
      [
        callTool('Bash', {
          command: 'until [ -e done.txt ]; do sleep 0.1; done; echo waited',
          description: 'Waits',
          run_in_background: true,
        }),
      ],
      {
        branches: [{ includes: '<task-notification>', pieces: [holdAnswer('woken'), sayText('The command is done.')] }],
        otherwise: [sayText('It runs.')],
      },
    ],
  },
  'background-endless': {
    steps: [
      [
        callTool('Agent', {
          description: 'Look around',
          prompt: '[scenario:endless-child] Go',
          subagent_type: 'general-purpose',
          run_in_background: true,
        }),
      ],
      [sayText('It works.')],
    ],
  },
  'endless-child': {
    steps: [
      [sayText('The child works.'), bash('child')],
      [holdAnswer('forever'), sayText('never')],
    ],
  },
  /** Its process is ended while a command has run and the next answer is awaited. */
  'permission-held': {
    steps: [
      [sayText('I run it.'), bash('held')],
      [holdAnswer('cut'), sayText('never')],
    ],
  },
  meanwhile: { steps: [[sayText('The second answer.')]] },
  plan: { steps: [[callTool('ExitPlanMode', { plan: '# The plan\n\n1. Make it.' })], [sayText('I make it now.')]] },
  'plan-file': { steps: [[holdAnswer('planning'), callTool('ExitPlanMode', {})], [sayText('I make it now.')]] },
  'plan-missing': { steps: [[callTool('ExitPlanMode', {})], [sayText('I make it now.')]] },
  files: { steps: [[sayText('I see them.')]] },
  picture: { steps: [[callTool('Read', { file_path: 'picture.png' })], [sayText('It is small.')]] },
  form: { steps: [[callTool('mcp__forms__form', {})], [sayText('It is ordered.')]] },
  link: { steps: [[callTool('mcp__forms__link', {})], [sayText('You are logged in.')]] },
  unsummarized: { steps: [[httpError(400, 'I do not summarize.')]] },
  unauthorized: { steps: [[httpError(401, 'The key is wrong.')]] },
  todos: { steps: [[todo('in_progress', 'pending')], [todo('completed', 'in_progress')], [sayText('Planned.')]] },
}

/** Claude Code with a scripted model, in a home and a folder of its own. */
export async function startClaudeStage(
  command: string,
  options: ClaudeOptions = {},
): Promise<SourceStage & Pick<ScriptedStage, 'model'>> {
  const stage = await startScripted(claudeScripts)
  const { directory } = stage
  const env = claudeEnv(stage)
  const existing = await answerBefore(claude({ ...options, command, cwd: directory, env }), stage.home)
  const source = claude({ ...options, command, cwd: directory, env })
  return {
    model: stage.model,
    source,
    unreachable: claude({ command: 'no-such-claude', env }),
    directory,
    existing,
    secrets: ['scripted-key'],
    prompts: {
      plain: { text: '[scenario:plain] Go.', answer: 'Hello there, nice to meet you.' },
      endless: '[scenario:endless] Go.',
      permission: '[scenario:permission] Go.',
      always: '[scenario:always] Go.',
      question: '[scenario:question] Go.',
      delegate: '[scenario:delegate] Go.',
      command: 'compact',
    },
    close: async () => {
      source.close()
      await stage.close()
    },
  }
}

/** A session of an earlier process: a prompt whose sub-agent asked, and one that was answered. */
async function answerBefore(source: Source, home: string): Promise<ExistingSession> {
  const client = connectSource(source)
  const observer: ReplyObserver = { permissionAsked: ({ ask }) => void client.answer(ask, 'once') }
  const first = await client.prompt({ text: '[scenario:delegate-waiting] Go.' }, { observe: () => [observer] }).result
  const { sessionID } = first
  const second = await client.prompt({ text: '[scenario:plain] Go.', sessionID }).result
  // 2.1.197 writes its transcript a moment later, and loses the rest if it ends before.
  const isWritten = (): boolean => transcriptIn(home, sessionID).includes(second.messages.at(-1)?.id ?? '')
  while (!isWritten()) await new Promise((resolve) => setTimeout(resolve, 20))
  await client.close()
  const messageIDs = [first, second].flatMap(({ promptIDs, messages }) => [
    ...promptIDs,
    ...messages.map(({ id }) => id),
  ])
  const childIDs = first.children.map(({ reply }) => reply.sessionID)
  return { sessionID, messageIDs, answer: textOf(second), childIDs }
}

function transcriptIn(home: string, sessionID: string): string {
  const projects = join(home, '.claude/projects')
  const [project = ''] = readdirSync(projects)
  return readFileSync(join(projects, project, `${sessionID}.jsonl`), 'utf8')
}
