import type { Source } from '@reply/core/source'
import type { SourceStage } from '@reply/core/testing'
import { callTool, holdAnswer, httpError, type Scripts, sayText, think } from '@reply/testing'
import { type CodexOptions, codex } from '../../src/codex.ts'
import { codexEnv, codexFiles, type ScriptedStage, startScripted } from '../scripted-stage.ts'

const exec = (command: string) =>
  callTool('exec_command', {
    cmd: command,
    sandbox_permissions: 'require_escalated',
    justification: 'May I make a file?',
  })

const plan = (first: string, second: string) =>
  callTool('update_plan', {
    plan: [
      { step: 'Read', status: first },
      { step: 'Write', status: second },
    ],
  })

/** Asks for approval first. Returns to the model after 250 ms, or when the command has ended. */
const execBriefly = (command: string) =>
  callTool('exec_command', {
    cmd: command,
    yield_time_ms: 250,
    sandbox_permissions: 'require_escalated',
    justification: 'May I wait?',
  })

/** A call of the MCP server `pictures`. */
const draw = (subject: string) => callTool('mcp__pictures.draw', { subject, size: { width: 2, height: 3 } })

/** Codex takes a command of this name for a patch, and asks before it changes files. */
const patch = (...lines: readonly string[]) =>
  callTool('exec_command', {
    cmd: ["apply_patch <<'END'", '*** Begin Patch', ...lines, '*** End Patch', 'END'].join('\n'),
  })

const until = (file: string) => `until test -f ${file}; do sleep 0.1; done`

const delegateTo = (scenario: string) =>
  callTool('multi_agent_v1.spawn_agent', { message: `[scenario:${scenario}] Look around.` })

const delegate = delegateTo('child')
const untilMade = 'until test -f child.txt; do sleep 0.1; done; sleep 1'

/** An older version, and the newest one at the time of recording. */
export const codexVersions = ['0.150.0', '0.169.0'] as const

/** Outside of plan mode, Codex 0.169.0 has its question tool only with this feature. */
export const askingArgs = ['-c', 'features.default_mode_request_user_input=true'] as const

export const codexScripts: Scripts = {
  plain: { steps: [[think('Let me think.'), sayText('Hello there, nice to meet you.')]] },
  endless: { steps: [[sayText('I begin. '), holdAnswer('forever'), sayText('never')]] },
  permission: { steps: [[sayText('I run it.'), exec('touch made.txt && echo made')], [sayText('It is made.')]] },
  always: { steps: [[exec('touch always.txt')], [sayText('It is made again.')]] },
  // A model waits for its sub-agent by an id that a script can't know.
  delegate: { steps: [[delegate], [callTool('exec_command', { cmd: untilMade })], [sayText('The agent is done.')]] },
  'delegate-plain': { steps: [[delegateTo('late-plain')], [sayText('It works.')]] },
  'late-plain': { steps: [[holdAnswer('parent'), sayText('The child is done.')]] },
  // Codex expects an encrypted message, so its sub-agent gets none.
  'delegate-named': {
    steps: [
      [callTool('collaboration.spawn_agent', { task_name: 'look', message: 'Look around.', fork_turns: 'none' })],
      [callTool('exec_command', { cmd: 'sleep 1' })],
      [sayText('The agent is done.')],
    ],
  },
  ask: {
    steps: [
      [
        callTool('request_user_input', {
          questions: [
            {
              id: 'color',
              header: 'Color',
              question: 'Which color?',
              options: [
                { label: 'Blue', description: 'Like the sky.' },
                { label: 'Red', description: 'Like a rose.' },
              ],
            },
          ],
        }),
      ],
      [sayText('So be it.')],
    ],
  },
  child: {
    steps: [[sayText('The child works.'), exec('touch child.txt && echo child')], [sayText('The child is done.')]],
  },
  'background-agent': { steps: [[sayText('I delegate.'), delegateTo('late-child')], [sayText('It works.')]] },
  'late-child': {
    steps: [
      [holdAnswer('parent'), sayText('The child works.'), exec('touch child.txt && echo child')],
      [sayText('The child is done.')],
    ],
  },
  'late-endless': { steps: [[holdAnswer('parent'), sayText('I begin.'), holdAnswer('forever')]] },
  'background-endless': { steps: [[delegateTo('late-endless')], [sayText('It works.')]] },
  'background-command': {
    steps: [[execBriefly(`${until('done.txt')}; echo done; touch ended.txt`)], [sayText('It runs.')]],
  },
  // Ends after the command in the background.
  'meanwhile-command': {
    steps: [[exec(`touch done.txt; ${until('ended.txt')}; sleep 1`)], [sayText('The second answer.')]],
  },
  slow: { steps: [[sayText('I begin.'), holdAnswer('slow')]] },
  'unknown-model': { steps: [[httpError(400, 'The model `nonesuch` does not exist.')]] },
  meanwhile: { steps: [[sayText('The second answer.')]] },
  goal: {
    steps: [
      [callTool('create_goal', { objective: '[scenario:goal-work] Reach it.' })],
      {
        branches: [{ includes: 'codex_internal_context', pieces: [callTool('update_goal', { status: 'complete' })] }],
        otherwise: [sayText('I begin with it.')],
      },
      [sayText('It is reached.')],
    ],
  },
  // Version 0.150.0 repeats the goal in its own prompt, newer ones don't.
  'goal-work': { steps: [[callTool('update_goal', { status: 'complete' })], [sayText('It is reached.')]] },
  draw: { steps: [[draw('a house')], [draw('a tree')], [sayText('They are drawn.')]] },
  print: { steps: [[callTool('mcp__pictures.print', {})], [sayText('It is printed.')]] },
  form: { steps: [[callTool('mcp__forms.form', {})], [sayText('It is ordered.')]] },
  link: { steps: [[callTool('mcp__forms.link', {})], [sayText('You are logged in.')]] },
  shoot: { steps: [[callTool('shoot', { zoom: 2 })], [sayText('It is shot.')]] },
  view: { steps: [[callTool('view_image', { path: 'dot.png' })], [sayText('A dot.')]] },
  rights: {
    steps: [
      [
        callTool('request_permissions', {
          reason: 'I must read the hosts.',
          permissions: { network: { enabled: true }, file_system: { read: ['/etc'], write: ['/opt'] } },
        }),
      ],
      [sayText('So be it.')],
    ],
  },
  // Changes a line twice, and files in other ways. The last change is by a command.
  patch: {
    steps: [
      [patch('*** Update File: list.txt', '@@', ' one', '-two', '+2', ' three')],
      [patch('*** Update File: list.txt', '@@', ' one', '-2', '+zwei', ' three', '*** Add File: src/new.txt', '+new')],
      [patch('*** Delete File: old.txt', '*** Update File: name.txt', '*** Move to: renamed.txt', '@@', '-a', '+b')],
      [exec('echo four >> list.txt')],
      [sayText('They are changed.')],
    ],
  },
  plan: { steps: [[plan('in_progress', 'pending')], [plan('completed', 'in_progress')], [sayText('Planned.')]] },
}

/** Codex with a scripted model, in a home and a folder of its own. */
export async function startCodexStage(
  command: string,
  options: CodexOptions = {},
): Promise<SourceStage & Pick<ScriptedStage, 'model' | 'home'> & { readonly open: () => Source }> {
  const stage = await startScripted(codexScripts, codexFiles)
  const { directory } = stage
  const env = codexEnv(stage)
  const args = options.args ?? [...askingArgs]
  const open = () =>
    codex({ ...options, args, command, cwd: directory, env, approvalPolicy: 'on-request', sandbox: 'read-only' })
  const source = open()
  return {
    open,
    model: stage.model,
    home: stage.home,
    source,
    unreachable: codex({ command: 'no-such-codex', env }),
    directory,
    secrets: ['scripted-key'],
    prompts: {
      plain: { text: '[scenario:plain] Go.', answer: 'Hello there, nice to meet you.' },
      endless: '[scenario:endless] Go.',
      permission: '[scenario:permission] Go.',
      always: '[scenario:always] Go.',
      delegate: '[scenario:delegate] Go.',
      question: '[scenario:ask] Go.',
    },
    close: async () => {
      source.close()
      await stage.close()
    },
  }
}
