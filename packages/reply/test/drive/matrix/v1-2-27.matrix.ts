import { testPlaces } from './place.ts'
import { testVersion } from './version.ts'

testVersion('1.2.27')
testPlaces('1.2.27')
