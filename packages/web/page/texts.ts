import type { FailureCause } from '@reply/core'
import type { NoText, ToolEnd } from '@reply/core/show'

/** Every text that the pages show besides what the agent, its tools and people wrote. */
export const texts = {
  // The page of a run
  untitled: 'A run without a title',
  prompt: 'Prompt',
  joined: 'Joined while it ran',
  answer: 'Answer',
  thought: 'Thought',
  thinking: 'Thinking',
  files: (count: number) => (count === 1 ? 'With 1 file' : `With ${count} files`),
  missing: 'Words may be missing here.',
  stop: 'Stop',
  stopping: 'Stopping…',
  // The connection to the server
  notSent: 'The server can’t be reached, so it is not known whether this arrived. Look again in a moment.',
  failed: 'The server could not do this. Try again.',
  unreachable: 'The server can’t be reached. Try again in a moment.',
  connecting: 'Connecting…',
  reconnecting: 'The connection is lost. It comes back by itself, and what follows is shown then.',
  noToken: 'This address is not complete. Open the whole link, with all that follows the #.',
  // The desk
  desk: 'Runs',
  deskNoToken: 'Open the whole address that `reply web` printed, with all that follows the #.',
  noRuns: 'Nothing has run here yet. Send a prompt, and it is shown here.',
  chooseRun: 'Choose a run.',
  waitsFor: (asks: number) => (asks === 1 ? 'Waits for an answer' : `Waits for ${asks} answers`),
  earlier: 'Earlier',
  backToRuns: 'All runs',
  // The state of a run
  phases: {
    waiting: 'Waiting to begin',
    working: 'Working',
    retrying: 'Waiting to retry',
    blocked: 'Waits for an answer',
    settled: 'Ended',
  },
  outcomes: {
    completed: 'Completed',
    stopped: 'Stopped',
    aborted: 'Aborted',
    failed: 'Failed',
    'timed-out': 'Timed out',
    lost: 'Lost',
  },
  ended: {
    stopped: (why: string) => `Stopped: ${why}.`,
    aborted: 'It was aborted.',
    failed: (reason: string | undefined) => (reason === undefined ? 'It failed.' : `It failed: ${reason}`),
    timedOut: (after: string | undefined) =>
      after === undefined ? 'It exceeded its time limit.' : `It exceeded its time limit after ${after}.`,
    cutOff: 'The text ends at the model’s output limit.',
    noText: ({ tools, agents, thought }: NoText) => {
      const did = [
        ...(tools > 0 ? [tools === 1 ? 'made 1 call' : `made ${tools} calls`] : []),
        ...(agents > 0 ? [agents === 1 ? 'started 1 sub-agent' : `started ${agents} sub-agents`] : []),
        ...(thought && tools + agents === 0 ? ['thought'] : []),
      ]
      return did.length === 0 ? 'It wrote no text.' : `It ${did.join(' and ')}, and wrote no text.`
    },
  },
  cures: {
    credentials: 'Check the credentials of the provider.',
    context: 'The context is full. Compact the session, or begin a new one.',
    output: 'Ask for a shorter answer, or for the rest of it.',
    model: 'Choose another model.',
    rate: 'Try again later.',
    provider: 'Try again later.',
    again: 'Try again.',
  } satisfies Readonly<Record<FailureCause | 'again', string>>,
  connectionLost: 'The connection to the agent is lost. What follows is shown once it is back.',
  stalled: 'There has been no progress for a while.',
  retry: (attempt: number | undefined, wait: string | undefined) =>
    `The provider failed. ${attempt === undefined ? 'It is tried again' : `Try ${attempt + 1} follows`}${wait === undefined ? '.' : ` in ${wait}.`}`,
  retried: (attempt: number) => `Try ${attempt} failed and was repeated`,
  compacting: 'The context is being compacted',
  compacted: (before: string | undefined) =>
    before === undefined ? 'The context was compacted' : `The context was compacted (${before} tokens before)`,
  changedFiles: 'The step changed these files',
  // Calls
  call: {
    pending: 'being written',
    running: 'running',
    completed: 'done',
    error: 'failed',
  },
  toolEnd: (end: ToolEnd): string => {
    switch (end.type) {
      case 'interrupted':
        return 'interrupted'
      case 'rejected':
        return end.reason === undefined ? 'rejected' : `rejected: ${end.reason}`
      case 'forbidden':
        return 'forbidden by a rule'
      case 'failed':
        return end.reason === '' ? 'failed' : `failed: ${end.reason}`
      case 'exited':
        return `exit code ${end.code}`
      default:
        return end satisfies never
    }
  },
  input: 'Input',
  output: 'Output',
  error: 'Error',
  subAgent: 'Sub-agent',
  background: 'in the background',
  checklist: 'Checklist',
  todo: { pending: 'to do', in_progress: 'in progress', completed: 'done', cancelled: 'cancelled' } as Readonly<
    Record<string, string>
  >,
  todosDone: (done: number, all: number) => `${done} of ${all} done`,
  foldAgent: 'Fold this sub-agent',
  // Markdown, code and long texts
  copy: { idle: 'Copy', copied: 'Copied', failed: 'Can’t copy' },
  showMore: 'Show more',
  showAll: 'Show all',
  checked: 'done',
  unchecked: 'not done',
  table: 'Table',
  picture: 'picture',
  pictureNotLoaded: 'picture, not loaded',
  save: 'Save',
  loading: 'Loading…',
  unknownError: 'Something went wrong. Try again.',
  // Changes
  diff: {
    none: 'No files were changed.',
    files: 'Changed files',
    lines: 'Changed lines',
    of: 'Changes of',
    ofRun: 'This run',
    ofSession: 'Whole session',
    layout: 'Layout',
    unified: 'Unified',
    split: 'Side by side',
    binary: 'binary',
    kinds: { added: 'added', deleted: 'deleted', modified: 'modified', renamed: 'renamed' },
    isBinary: 'It has no text to show.',
    onlyRenamed: 'It was renamed. Its lines did not change.',
    unknown: 'Which lines changed is not known.',
    large: (lines: string) => `${lines} are folded.`,
    show: 'Show them',
  },
  // Views of a run
  views: { run: 'Run', changes: 'Changes', about: 'About' },
  viewsLabel: 'Views of the run',
  rows: 'What happened, in order',
  usage: 'Usage',
  timeLine: 'Time line',
  noTimes: 'No times are known yet.',
  moreTimes: (count: number) => `and ${count} more`,
  step: (count: number) => `Step ${count}`,
  facts: {
    agent: 'Agent',
    model: 'Model',
    directory: 'Directory',
    started: 'Started',
    took: 'Took',
    running: 'Running for',
    cost: 'Cost',
    steps: 'Steps',
    input: 'Input tokens',
    cached: 'of them cached',
    output: 'Output tokens',
    reasoning: 'Reasoning tokens',
    context: 'Context',
    contextOf: (percent: number) => `${percent} % full`,
    session: 'Session',
  },
  waits: (count: number) => (count === 1 ? '1 ask waits for an answer' : `${count} asks wait for an answer`),
  newest: 'To the end',
  state: 'State of the run',
  noConnection: 'No connection',
  announced: {
    asks: (title: string) => `The agent asks: ${title}`,
    ended: (how: string) => `The run ended: ${how}`,
  },
  search: {
    label: 'Search this run',
    found: (at: number, all: number) => (all === 0 ? 'Not found' : at > 0 ? `${at} of ${all}` : `${all} found`),
    previous: 'Previous',
    next: 'Next',
    close: 'Close the search',
  },
  keys: {
    title: 'Keys',
    close: 'Close',
    open: 'Keys',
    isOn: 'Use single keys',
    list: [
      ['j n', 'next part'],
      ['k p', 'previous part'],
      ['a', 'next ask that waits'],
      ['Enter', 'fold or unfold'],
      ['g', 'to the beginning'],
      ['G', 'to the end'],
      ['/', 'search'],
      ['c', 'changes'],
      ['r', 'the run'],
      ['?', 'these keys'],
    ],
  },
  // Asks
  ask: {
    permission: 'Allow this?',
    question: 'A question for you',
    from: (agent: string) => `Asked by ${agent}`,
    unknown: 'What would run is not known yet.',
    neverKnown: 'What would run is not known, so it can only be rejected.',
    changed: 'This changed just now. Read it again.',
    readOnly: 'This link shows the run. It can’t answer.',
    mayNotAllow: 'This link has allowed once, which is all that it can. It can still reject.',
    once: 'Allow once',
    always: 'Always allow',
    reject: 'Reject',
    rejectWith: 'Reject with a message',
    message: 'What should the agent do instead?',
    send: 'Answer',
    own: 'Your own answer',
    sending: 'Sending…',
    alwaysSame: 'Always: this same call again, for all who use the server.',
    alwaysPatterns: 'Always covers all that matches:',
    alwaysOption: 'Always is an option of the agent:',
    optional: 'optional',
    closed: {
      once: 'Allowed once',
      always: 'Allowed always',
      rejected: 'Rejected',
      answered: 'Answered',
      withdrawn: 'Withdrawn without an answer',
      pending: 'Waits for an answer',
    },
    by: (closed: string, name: string | undefined) => (name === undefined ? closed : `${closed} by ${name}`),
  },
} as const
