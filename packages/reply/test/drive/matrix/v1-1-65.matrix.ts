import { testPlaces } from './place.ts'
import { testVersion } from './version.ts'

testVersion('1.1.65')
testPlaces('1.1.65')
