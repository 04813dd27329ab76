import {
  type AnswerPiece,
  cutConnection,
  holdAnswer,
  httpError,
  type ModelAnswer,
  type ScriptStep,
  type Scripts,
  sayText,
  think,
} from '@reply/testing'

/** How a model calls an agent's tools. What is absent, the agent has no tool for. */
export interface Tools {
  /** Runs a command that needs a permission. */
  readonly run: (command: string) => AnswerPiece
  /** Looks around, which needs no permission. */
  readonly look: AnswerPiece
  /** Asks which color, Red or Blue. */
  readonly question?: AnswerPiece
  /** Writes the checklist: Read is done, and Write is under way. */
  readonly todos?: readonly ModelAnswer[]
  /** Makes a file without a permission, for agents that can only wait for a sub-agent by a file. */
  readonly touch?: (file: string) => AnswerPiece
  /** Starts a sub-agent with the prompt, and waits for its end. `done` is a file that it makes at its end. */
  readonly delegate?: (prompt: string, done: string) => readonly ModelAnswer[]
  /** Starts a sub-agent with the prompt, which goes on in the background. */
  readonly delegateInBackground?: (prompt: string) => AnswerPiece
  /** Runs a command in the background. */
  readonly background?: (command: string) => AnswerPiece
  /** Reads the image `dot.png` in the folder. */
  readonly readImage?: AnswerPiece
  /** Calls the tool `ask` of the MCP server `forms`. */
  readonly form?: AnswerPiece
  /** The status of a model that is busy, after which the agent tries again. Default 529. */
  readonly busyStatus?: number
}

export const texts = {
  plain: 'Hello there, nice to meet you.',
  long: Array.from({ length: 1500 }, (_, line) => `Line ${line} of a long answer.`).join('\n'),
  markdown: ['# Title', 'A **bold** word and `code`.', '```ts\nconst a = `b`\n```', '- one\n- two'].join('\n\n'),
  unicode: 'Zażółć 日本語 עברית 👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 𝒳 \u202bend',
} as const

const waits = 'until [ -e done.txt ]; do sleep 0.1; done; echo waited'

/** What the model says in the scenes. Scripts for tools that the agent lacks are left out. */
export function scriptsFor(tools: Tools): Scripts {
  const { run, look, delegate, background, delegateInBackground } = tools
  const scripts: Record<string, readonly ScriptStep[] | undefined> = {
    plain: [[think('Let me think.'), sayText(texts.plain)]],
    long: [[sayText(texts.long, 200)]],
    markdown: [[sayText(texts.markdown, 5)]],
    unicode: [[sayText(texts.unicode, 1)]],
    look: [[sayText('I look.'), look], [sayText('I looked.')]],
    permission: [[sayText('I run it.'), run('touch made.txt && echo made')], [sayText('It is made.')]],
    always: [[run('mkdir -p allowed')], [sayText('It is made again.')]],
    question: tools.question && [[tools.question], [sayText('Thanks.')]],
    todos: tools.todos && [...tools.todos, [sayText('Planned.')]],
    delegate: delegate && [...delegate('[scenario:quiet] Go', 'quiet.txt'), [sayText('The agent is done.')]],
    quiet: [[sayText('The child works.'), tools.touch?.('quiet.txt') ?? look], [sayText('The child is done.')]],
    'delegate-asking': delegate && [...delegate('[scenario:child] Go', 'child.txt'), [sayText('The agent is done.')]],
    child: [[sayText('The child works.'), run('touch child.txt && echo child')], [sayText('The child is done.')]],
    'background-command': background && [
      [background(waits)],
      {
        branches: [
          { includes: 'task-notification', pieces: [holdAnswer('woken'), sayText('The command is done.')] },
          { includes: 'waited', pieces: [holdAnswer('woken'), sayText('The command is done.')] },
        ],
        otherwise: [sayText('It runs.')],
      },
    ],
    'background-agent': delegateInBackground && [
      [sayText('I delegate.'), delegateInBackground('[scenario:child] Go')],
      {
        branches: [{ includes: 'The child is done.', pieces: [sayText('I know it now.')] }],
        otherwise: [sayText('It works.')],
      },
    ],
    'background-endless': delegateInBackground && [
      [delegateInBackground('[scenario:endless-child] Go')],
      [sayText('It works.')],
    ],
    'endless-child': [
      [sayText('The child works.'), run('touch child.txt')],
      [holdAnswer('forever'), sayText('never')],
    ],
    meanwhile: [[sayText('The second answer.')]],
    endless: [[sayText('I begin. '), holdAnswer('forever'), sayText('never')]],
    unauthorized: [[httpError(401, 'The key is wrong.')]],
    busy: [
      {
        attempts: [[httpError(tools.busyStatus ?? 529, 'Overloaded.', { 'retry-after': '1' })], [sayText('At last.')]],
      },
    ],
    cut: [{ attempts: [[sayText('Half of '), cutConnection], [sayText('The whole answer.')]] }],
    image: tools.readImage && [[tools.readImage], [sayText('I see it.')]],
    form: tools.form && [[tools.form], [sayText('The form is filled.')]],
  }
  const given = Object.entries(scripts).flatMap(([name, steps]) => (steps ? [[name, { steps }] as const] : []))
  return Object.fromEntries(given)
}
