import { openCode2Version } from '@reply/testing'
import { testUnasked } from './live-unasked.ts'

// `unasked.nightly.ts` has the versions before, and more random commands.
testUnasked('1.18.33', { runs: 15 })
testUnasked(openCode2Version, { runs: 15 })
