import { scenario } from '../scenario.ts'
import { hold, text } from '../script.ts'

export const ends = [
  scenario('abort-text', 'A person aborts while the text streams.', {
    steps: [[text('This answer will never come to its end, because'), hold('middle'), text(' nobody hears this.')]],
  }),
]
